"""Operations of the compatible APIs."""
