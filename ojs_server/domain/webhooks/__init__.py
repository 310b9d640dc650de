"""Rules of webhooks: subscriptions, targets and deliveries."""
