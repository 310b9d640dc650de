"""Operations on cron entries, and their firing."""
