"""Commands of `ojs-conformance`."""
