"""What is known of the engines that serve drafts: launch commands and hazards, per version."""
