"""HTTP: parse, call one operation, answer. No rule and no SQL lives here."""
