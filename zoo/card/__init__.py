"""The model card: recipe, evidence and standing in, README.md out. Nothing here reads a clock."""
