"""Who stands behind a release: signatures (OpenSSF model signing), provenance (in-toto), and whom a zoo
trusts."""
