"""Spark servers of the installed PySpark, for tests of the methods that reach one."""
