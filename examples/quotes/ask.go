package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/sqsbatch/sqsbatch/reply"
)

// askFor asks the other process for the prices of products.
func askFor(products []string) {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	client, err := reply.NewClient(sqs.NewFromConfig(cfg), reply.Config{Name: "shop"})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(context.Background()) // deletes the reply queue

	queue := "quotes"
	if url := os.Getenv("QUOTES_URL"); url != "" {
		queue = url
	}
	for _, product := range products {
		ask(client, queue, product)
	}
}

func ask(client *reply.Client, queue, product string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	q, err := reply.Call[Quote](ctx, client, queue, Request{product})
	if e, ok := errors.AsType[*reply.Error](err); ok && e.Permanent {
		fmt.Printf("%s: %s\n", product, e.Text)
	} else if err != nil {
		fmt.Printf("%s: try again later: %v\n", product, err)
	} else {
		fmt.Printf("%s costs %d.%02d\n", product, q.Cents/100, q.Cents%100)
	}
}
