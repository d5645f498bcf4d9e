"""A small hub: the Hugging Face Hub's HTTP contract over a directory.

It is for tests, and for a zoo on one's own machines. The real client (``huggingface_hub``, ``hf``) works
against it, with ``HF_ENDPOINT`` set and xet switched off::

    $ zoo hub user add /srv/hub alice --org acme      # prints a token, once
    $ zoo hub serve /srv/hub

Every repository is a bare git repository (``objects.py``, ``refs.py``) with a git-lfs store beside it, so
that its ids are git's own and ``git log`` and ``git fsck`` read it. Docs: docs/hub.md.

From the bottom up: ``disk`` (what survives a crash), ``gitformat`` and ``objects``, ``refs``, ``lfs``,
``repo`` (one repository), ``commits``, ``merge``, ``discussions``, ``users``, ``directory`` (the hub on the
disk), ``http`` (a request and an answer), ``rights``, ``routes/`` (one file per group), ``app``, ``serve``.
"""
