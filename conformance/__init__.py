"""Stand-alone judge of Open Job Spec servers: loads cases, plays them, says what failed."""
