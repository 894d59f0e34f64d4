package main

import (
	_ "embed"
	"html/template"
	"net/http"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// loginPath is where the clients of the storage send users who must log in.
const loginPath = "/login/username"

//go:embed login.html
var loginText string

var loginPage = template.Must(template.New("login").Parse(loginText))

// login is the form that authenticates a user for a request of a client.
type login struct {
	provider op.OpenIDProvider
	users    usersStorage
}

func (l login) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := r.FormValue("authRequestID")
	switch {
	case r.Method != http.MethodPost:
		l.show(w, id, "")
	case r.FormValue("cancel") != "":
		l.cancel(w, r, id)
	default:
		l.check(w, r, id)
	}
}

func (l login) show(w http.ResponseWriter, id, problem string) {
	if err := loginPage.Execute(w, map[string]string{"ID": id, "Problem": problem}); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// cancel redirects to the client with an error.
func (l login) cancel(w http.ResponseWriter, r *http.Request, id string) {
	request, err := l.users.AuthRequestByID(r.Context(), id)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	refused := oidc.ErrAccessDenied().WithDescription("the user has canceled the <b>login</b>")
	op.AuthRequestError(w, r, request, refused, l.provider)
}

func (l login) check(w http.ResponseWriter, r *http.Request, id string) {
	if err := l.users.CheckUsernamePassword(r.FormValue("username"), r.FormValue("password"), id); err != nil {
		l.show(w, id, err.Error())
		return
	}
	http.Redirect(w, r, op.AuthCallbackURL(l.provider)(r.Context(), id), http.StatusFound)
}
