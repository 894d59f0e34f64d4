package main

import (
	"context"
	"time"

	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// password is the password of all users.
const password = "correct horse"

// users are the known users.
type users struct{}

var ada = &storage.User{ID: "ada", Username: "ada", Password: password, Email: "ada@example.com", EmailVerified: true}

// groups is the value of the claim groups of all users.
var groups = []string{"engineers"}

func (users) GetUserByID(id string) *storage.User { return users{}.GetUserByUsername(id) }
func (users) ExampleClientID() string             { return "" }
func (users) GetUserByUsername(name string) *storage.User {
	if name != ada.Username {
		return nil
	}
	return ada
}

// lifetimes are the lifetimes of ID tokens by the client that they are issued to.
var lifetimes = map[string]time.Duration{
	"console":       time.Hour,
	"console-brief": 30 * time.Second,
}

func registeredClients() map[string]*storage.Client {
	clients := map[string]*storage.Client{}
	for id := range lifetimes {
		clients[id] = storage.NativeClient(id, "http://127.0.0.1/signin/callback")
	}
	return clients
}

// usersStorage is a storage in memory whose ID tokens have the claims of users.
type usersStorage struct{ *storage.Storage }

// GetClientByClientID implements op.Storage.
func (s usersStorage) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	registered, err := s.Storage.GetClientByClientID(ctx, id)
	if err != nil {
		return nil, err
	}
	return client{registered}, nil
}

// SetUserinfoFromRequest implements op.CanSetUserinfoFromRequest.
func (s usersStorage) SetUserinfoFromRequest(ctx context.Context, info *oidc.UserInfo, request op.IDTokenRequest, scopes []string) error {
	info.AppendClaims("groups", groups)
	return s.Storage.SetUserinfoFromRequest(ctx, info, request, scopes)
}

// client is a public client whose ID tokens have the claims of its scopes.
type client struct{ op.Client }

func (c client) IDTokenLifetime() time.Duration       { return lifetimes[c.GetID()] }
func (c client) IDTokenUserinfoClaimsAssertion() bool { return true }
