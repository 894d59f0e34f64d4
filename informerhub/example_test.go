package informerhub_test

import (
	"context"
	"fmt"
	"log"

	"github.com/kubeconnect/kubeconnect/informerhub"
)

// This example follows the pods with a label, until one is deleted.
func Example() {
	cluster := startCluster() // of tests; others pass the configuration of their cluster
	defer cluster.Close()
	hub, err := informerhub.New(cluster.Config(), informerhub.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer hub.Close()

	ctx := context.Background()
	pods, err := hub.Resolver().Resolve(ctx, "po")
	if err != nil {
		log.Fatal(err)
	}
	cache, err := hub.Cache(ctx, pods)
	if err != nil {
		log.Fatal(err)
	}
	selection, err := cache.Select(ctx, informerhub.Query{Namespace: "default", LabelSelector: "app=web"})
	if err != nil {
		log.Fatal(err)
	}
	watcher := cache.Watch(selection, informerhub.WatchOptions{})
	defer watcher.Close()
	for deleted := false; !deleted; {
		batch, err := watcher.Next(ctx)
		if err != nil {
			log.Fatal(err)
		}
		for _, event := range batch.Events {
			switch event.Type {
			case informerhub.Synced:
				fmt.Println("snapshot complete at", event.ResourceVersion)
				cluster.deletePod()
			case informerhub.Added:
				fmt.Println("added", event.Object.Name())
			case informerhub.Deleted:
				fmt.Println("deleted", event.Object.Name())
				deleted = true
			}
		}
	}
	// Output:
	// added web-0
	// snapshot complete at 10
	// deleted web-0
}
