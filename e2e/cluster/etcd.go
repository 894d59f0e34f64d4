package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/embed"
)

func etcdFlags(dir layout, p ports) flags {
	return flags{"dir": string(dir), "port": strconv.Itoa(p.Etcd)}
}

func newEtcdCommand() *cobra.Command {
	var dir string
	var port int
	command := &cobra.Command{
		Use:          etcdName,
		SilenceUsage: true,
		RunE: func(command *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			return runEtcd(ctx, etcdConfig(layout(dir), port))
		},
	}
	command.Flags().StringVar(&dir, "dir", "", "the cluster's directory")
	command.Flags().IntVar(&port, "port", 0, "the client port")
	command.SetContext(context.Background())
	return command
}

// runEtcd serves until ctx is done.
func runEtcd(ctx context.Context, config *embed.Config) error {
	etcd, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	defer etcd.Close()
	select {
	case <-ctx.Done():
		return nil
	case err := <-etcd.Err():
		return err
	case <-etcd.Server.StopNotify():
		return errors.New("etcd stopped unexpectedly")
	}
}

// etcdConfig returns the configuration of a single member that only the API server is allowed to
// access. It has no peers, so it does not listen for any.
//
// fsync is disabled: data survives the end of any process here, but not a power failure, and tests
// do not wait for a disk.
func etcdConfig(dir layout, port int) *embed.Config {
	client := url.URL{Scheme: "https", Host: address(port)}
	config := embed.NewConfig()
	config.Dir = dir.etcdData()
	config.ListenPeerUrls = nil
	config.ListenClientUrls = []url.URL{client}
	config.AdvertiseClientUrls = []url.URL{client}
	config.ClientTLSInfo.CertFile = dir.pki(etcdServer + ".crt")
	config.ClientTLSInfo.KeyFile = dir.pki(etcdServer + ".key")
	config.ClientTLSInfo.TrustedCAFile = dir.pki(etcdCA + ".crt")
	config.ClientTLSInfo.ClientCertAuth = true
	config.EnableGRPCGateway = false
	config.UnsafeNoFsync = true
	config.LogLevel = "warn"
	config.WarningUnaryRequestDuration = embed.DefaultWarningUnaryRequestDuration // otherwise etcd 3.6 logs every request as slow
	return config
}

// etcdReady returns a check of etcd's health, which includes that it has a leader.
func etcdReady(dir layout, p ports) (check, error) {
	client, err := clientWith(dir, etcdCA, etcdClient)
	if err != nil {
		return nil, fmt.Errorf("etcd client: %w", err)
	}
	return answersOK(client, httpsURL(p.Etcd)+"/health"), nil
}
