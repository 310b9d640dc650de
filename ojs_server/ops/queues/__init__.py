"""Operations on queues."""
