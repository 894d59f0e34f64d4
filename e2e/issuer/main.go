// Command issuer is an OpenID provider for tests: it authenticates the users in users.go with a
// form, and issues ID tokens to two public clients. It serves HTTPS on a free port of 127.0.0.1:
//
//	issuer --cert FILE --key FILE
//
// The redirect URI of the clients is http://127.0.0.1/signin/callback, at any port. The program
// prints the URL of the issuer in the line "issuer: URL".
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os/signal"
	"syscall"

	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/op"
)

func main() {
	cert := flag.String("cert", "", "a PEM file with the certificate, which must be valid for localhost")
	key := flag.String("key", "", "a PEM file with the private key of the certificate")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *cert, *key); err != nil {
		log.Fatal(err)
	}
}

// run serves until ctx is done.
func run(ctx context.Context, cert, key string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	issuer := fmt.Sprintf("https://localhost:%d", listener.Addr().(*net.TCPAddr).Port)
	handler, err := newHandler(issuer)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	fmt.Println("issuer:", issuer)
	if err := server.ServeTLS(listener, cert, key); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func newHandler(issuer string) (http.Handler, error) {
	users := usersStorage{storage.NewStorageWithClients(users{}, registeredClients())}
	config := &op.Config{CodeMethodS256: true, GrantTypeRefreshToken: true, DefaultLogoutRedirectURI: "/"}
	if _, err := rand.Read(config.CryptoKey[:]); err != nil {
		return nil, err
	}
	provider, err := op.NewProvider(config, users, op.StaticIssuer(issuer))
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/", provider)
	mux.Handle(loginPath, op.NewIssuerInterceptor(provider.IssuerFromRequest).Handler(login{provider, users}))
	return mux, nil
}
