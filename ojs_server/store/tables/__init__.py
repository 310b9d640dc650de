"""What both stores do alike, one file a subject: records to rows, rows to records."""
