"""Operations on models: preview, check, status, history, audit, maintain, adopt and rename."""
