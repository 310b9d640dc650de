"""The app of the tests: a shop with orders."""
