"""Operations on tenants, and their quotas."""
