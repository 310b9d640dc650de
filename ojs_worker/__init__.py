"""The worker SDK. It is not written yet: this package holds nothing but its place."""
