"""What differs between two drafts: recipes, releases, folders, repositories of a hub.

``sides.open_side`` reads what is known of one draft, ``compare.compare`` is a pure function of two of them,
``numbers.compare_numbers`` streams their tensors, and ``text``, ``markdown`` and :meth:`model.Diff.as_json`
show the result.
"""
