"""Cases that an author brings: `--cases DIR`, in Python, YAML or JSON.

problems.py       the file and the line of what is wrong
folder.py         finds the files, and gathers their cases or all that is wrong with them
text_file.py      a case in YAML or JSON, as the published ones are
python_file.py    a module with cases, as those of this suite are
"""
