// Command fleet starts a robot's worth of processes, many times over, on one computer:
// memory servers on one backbone, programs that connect to them, entities that they
// commit to and watch. It prints how long that takes and how much main memory all of the
// processes need together.
//
//	go run ./bench/fleet                    # 50 servers, 200 clients, 5,000 entities
//	go run ./bench/fleet -data              # and every server records
//	go run ./bench/fleet -fabric            # messages/s between two robots over a base station
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	var o options
	flag.IntVar(&o.servers, "servers", 50, "servers; the first embeds the backbone")
	flag.IntVar(&o.clients, "clients", 200, "programs that connect to the servers, in turn")
	flag.IntVar(&o.entities, "entities", 5000, "entities in all")
	flag.IntVar(&o.rounds, "rounds", 10, "commits of every entity, once all is there")
	flag.BoolVar(&o.data, "data", false, "every server records")
	flag.StringVar(&o.binary, "engram", "", "the program (default: it is built)")
	fabric := flag.Bool("fabric", false, "measure the backbone between two robots instead")
	flag.IntVar(&o.driver, "driver", 0, "") // how this program calls itself
	flag.StringVar(&o.dir, "dir", "", "")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	run := o.run
	if *fabric {
		run = o.fabric
	}
	if o.driver > 0 {
		run = o.drive
	}
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		stop()
		os.Exit(1)
	}
}
