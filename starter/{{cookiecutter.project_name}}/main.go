// Command bootstrap welcomes who has signed up: one message of the queue, one
// mail. Replace Signup by what your messages hold and welcome by what is to be
// done about one of them.
package main

import (
	"github.com/sqsbatch/sqsbatch/batch"
	"github.com/sqsbatch/sqsbatch/handler"
)

func main() {
	handler.Run(batch.JSON(welcome(demoMailer{})))
}
