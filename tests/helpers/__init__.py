"""What tests share; see `dbt_project.DbtProject` for tests on a real Spark."""
