"""The page that shows a project's maintained models, or one of its runs."""
