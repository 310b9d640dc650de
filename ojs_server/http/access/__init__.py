"""Access: keys, roles, sessions of people, and origins."""
