"""Operations on schemas, and validation against them."""
