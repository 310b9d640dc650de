"""Rules of cron: expressions, entries and time zones."""
