package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/kubeconnect/kubeconnect/bench/simulate"
	"github.com/kubeconnect/kubeconnect/e2e/harness"
)

// The bench starts its own binary as a simulated API server: bench simulate PODS DIRECTORY. It
// prints simulatorReady when it serves.
const (
	simulateCommand = "simulate"
	simulatorReady  = "ready"
)

// runSimulator serves simulated pods until the context ends.
func runSimulator(ctx context.Context, count, dir string) error {
	number, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	pods, err := simulate.NewPods(number)
	if err != nil {
		return err
	}
	handler, err := simulate.NewHandler(pods)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		pods.ChangeAt(ctx, &handler.Rate)
		return nil
	})
	group.Go(func() error {
		return simulate.Serve(ctx, handler, dir, func(url string) { fmt.Println(url + "\n" + simulatorReady) })
	})
	return group.Wait()
}

// simulator is a process with a simulated API server. The embedded control plane has what a service
// needs to be started against it.
type simulator struct {
	*controlPlane
	client *http.Client
	url    string
}

// startSimulator starts a simulator. The caller must call stop.
func startSimulator(ctx context.Context, pods int) (s *simulator, err error) {
	s = &simulator{controlPlane: &controlPlane{temporary: true}}
	if s.dir, err = os.MkdirTemp("", "kubeconnect-sizing-"); err == nil {
		err = s.begin(ctx, pods)
	}
	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *simulator) begin(ctx context.Context, pods int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	s.process, err = harness.Start(self, simulateCommand, strconv.Itoa(pods), s.dir)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, clusterStart)
	defer cancel()
	s.url, err = s.process.UntilPrints(ctx, func(line string) bool { return line != "" })
	if err != nil {
		return err
	}
	if _, err = s.process.UntilPrints(ctx, func(line string) bool { return line == simulatorReady }); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(s.dir, simulate.CertFile))
	s.tls = &tls.Config{RootCAs: x509.NewCertPool()}
	s.tls.RootCAs.AppendCertsFromPEM(text)
	s.client = &http.Client{Transport: &http.Transport{TLSClientConfig: s.tls.Clone()}}
	return err
}

// setRate sets the number of changes that are made each second.
func (s *simulator) setRate(ctx context.Context, rate int) error {
	return s.command(ctx, http.MethodPost, "rate?to="+strconv.Itoa(rate), nil)
}

// expire ends all watches, so that the service reads all pods again.
func (s *simulator) expire(ctx context.Context) error {
	return s.command(ctx, http.MethodPost, "expire", nil)
}

func (s *simulator) state(ctx context.Context) (state simulate.State, err error) {
	err = s.command(ctx, http.MethodGet, "state", &state)
	return state, err
}

// command calls the simulator, and decodes the response into result unless that is nil.
func (s *simulator) command(ctx context.Context, method, path string, result any) error {
	request, err := http.NewRequestWithContext(ctx, method, s.url+"/simulate/"+path, nil)
	if err != nil {
		return err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(response.Body)
	err = errors.Join(err, response.Body.Close())
	switch {
	case err != nil:
		return err
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: %s: %s", path, response.Status, body)
	case result == nil:
		return nil
	}
	return json.Unmarshal(body, result)
}
