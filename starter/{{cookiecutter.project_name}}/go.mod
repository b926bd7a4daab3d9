module {{ cookiecutter.module }}

go 1.26.0

tool github.com/sqsbatch/sqsbatch/cmd/sqsbatch

require github.com/sqsbatch/sqsbatch v0.1.0
