-- What was sold of each part.
{{ config(unique_key='partkey') }}
{{ lines_by('partkey') }}
