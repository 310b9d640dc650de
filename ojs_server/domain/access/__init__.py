"""Rules of access: sessions of people, and failed attempts."""
