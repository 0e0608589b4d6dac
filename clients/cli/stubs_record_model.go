package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	shellquote "github.com/kballard/go-shellquote"

	"github.com/retrial-dev/retrial/clients/recorder"
	"github.com/retrial-dev/retrial/server/checkerhost"
)

// asked is the model of a run: an endpoint or a recorder.
type asked struct {
	recorder.Model
	name    string
	secrets recorder.Secrets
	close   func() error
}

// openModel opens the model that the flags and the environment name. Nothing that it says has a secret in it.
func openModel(ctx context.Context, f recordFlags, list []*wanted) (*asked, error) {
	if f.recorder == "" {
		return openEndpoint()
	}
	argv, err := shellquote.Split(f.recorder)
	if err != nil || len(argv) == 0 {
		return nil, usage(fmt.Errorf("--recorder: %q is no command", f.recorder))
	}
	c := checkerhost.Command{Argv: argv}
	var values []string
	for _, name := range f.env {
		value, ok := os.LookupEnv(name)
		if !ok {
			return nil, usage(fmt.Errorf("--env: there is no variable %q; the value comes from the environment, not from the flag", name))
		}
		c.Env = append(c.Env, name+"="+value)
		values = append(values, value)
	}
	secrets := recorder.NewSecrets(values...)
	p, err := recorder.Launch(ctx, c)
	if err != nil {
		return nil, &exit{exitUndecided, errors.New(secrets.Hide(err.Error()))}
	}
	for _, w := range list {
		if !p.Reaches(w.Model) {
			err := usage(fmt.Errorf("%s: its model is %q, which %s does not reach", w.ID, w.Model, p))
			return nil, errors.Join(err, p.Close())
		}
	}
	return &asked{Model: p, name: p.String(), secrets: secrets, close: p.Close}, nil
}

func openEndpoint() (*asked, error) {
	base, key := os.Getenv(recorder.BaseURLVariable), os.Getenv(recorder.KeyVariable)
	switch {
	case base == "" && key == "":
		return nil, usage(fmt.Errorf("no model: set %s and %s, or name a recorder with --recorder", recorder.BaseURLVariable, recorder.KeyVariable))
	case base == "":
		return nil, usage(fmt.Errorf("no endpoint: set %s, such as https://host/v1; the key alone does not say whom it is for", recorder.BaseURLVariable))
	}
	e, err := recorder.NewEndpoint(base, key)
	if err != nil {
		return nil, usage(fmt.Errorf("%s: %w", recorder.BaseURLVariable, err))
	}
	return &asked{Model: e, name: e.String(), secrets: recorder.NewSecrets(key), close: e.Close}, nil
}
