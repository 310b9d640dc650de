"""Operations of workers: FETCH, BEAT, registration and sessions."""
