module github.com/retrial-dev/retrial/examples/trials

go 1.26.8
