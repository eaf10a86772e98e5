package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/client"
)

func (p *program) keyCommand() *cobra.Command {
	return group("key", "Keys: who may do what", `  dhruva key create --space work --scopes memory:read,memory:write,proxy --json
  dhruva key list
  dhruva key revoke KEY`, p.keyCreate(), p.keyList(), p.keyRevoke())
}

func (p *program) keyCreate() *cobra.Command {
	var in client.KeyInput
	var scopes []string
	var expires string
	c := &cobra.Command{Use: "create", Short: "Make a key; it is shown once", Args: cobra.NoArgs,
		Example: `  dhruva key create --space work --scopes memory:read,memory:write,proxy --json
  dhruva key create --name ci --scopes memory:read --expires 720h
  dhruva key create --test --scopes proxy,memory:read,memory:write      reaches only echo`,
		RunE: func(c *cobra.Command, _ []string) error {
			for _, s := range scopes {
				in.Scopes = append(in.Scopes, dhruva.KeyScope(strings.TrimSpace(s)))
			}
			if err := setExpiry(&in, expires); err != nil {
				return err
			}
			return p.with(c.Context(), func(api *client.Client) error {
				k, err := api.CreateKey(c.Context(), in)
				if err != nil {
					return err
				}
				p.say("key %s, shown this once; keep it safe", k.ID)
				if p.flags.quiet && !p.flags.json { // its id alone would lose the key
					_, err := fmt.Fprintln(p.stdout, k.Secret)
					return err
				}
				return p.print(k, func(w io.Writer) { fmt.Fprintln(w, k.Secret) })
			})
		}}
	f := c.Flags()
	f.StringVar(&in.Name, "name", "", "name")
	f.StringVarP(&in.Space, "space", "s", "", "the key's own space (made if missing); it then reaches no other")
	f.StringSliceVar(&in.Spaces, "spaces", nil, "further spaces it may touch")
	f.StringSliceVar(&scopes, "scopes", []string{string(dhruva.MemoryRead), string(dhruva.MemoryWrite), string(dhruva.ProxyUse)}, "rights")
	f.StringVar(&in.Provider, "provider", "", "bind proxied calls to one provider")
	f.BoolVar(&in.Test, "test", false, "a test key: reaches only the echo provider")
	f.StringVar(&expires, "expires", "", "how long it lives, such as 720h, or a time such as 2030-01-02T15:04:05Z")
	return c
}

func setExpiry(in *client.KeyInput, text string) error {
	if text == "" {
		return nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if d, derr := time.ParseDuration(text); derr == nil {
		at, err = time.Now().Add(d), nil
	}
	if err != nil {
		return withFix(usage("--expires %q is neither a duration nor a time", text), "give one such as 720h or 2030-01-02T15:04:05Z")
	}
	in.ExpiresAt = &at
	return nil
}

func (p *program) keyList() *cobra.Command {
	var g paging
	c := &cobra.Command{Use: "list", Short: "List keys", Example: "  dhruva key list", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return p.with(c.Context(), func(api *client.Client) error {
				l, err := api.Keys(c.Context(), g.page())
				if err != nil {
					return err
				}
				return printList(p, l, "ID NAME KEY STATE SCOPES", func(k client.Key) []string {
					return []string{string(k.ID), k.Name, k.Label, keyState(k), scopeNames(k.Scopes)}
				})
			})
		}}
	g.flags(c)
	return c
}

func keyState(k client.Key) string {
	switch {
	case !k.RevokedAt.IsZero():
		return "revoked"
	case !k.ExpiresAt.IsZero() && !k.ExpiresAt.After(time.Now()):
		return "expired"
	}
	return "live"
}

func scopeNames(scopes []dhruva.KeyScope) string {
	names := make([]string, 0, len(scopes))
	for _, s := range scopes {
		names = append(names, string(s))
	}
	return strings.Join(names, ",")
}

func (p *program) keyRevoke() *cobra.Command {
	return &cobra.Command{Use: "revoke KEY", Short: "End a key at once", Example: "  dhruva key revoke KEY", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return p.with(c.Context(), func(api *client.Client) error {
				if err := api.RevokeKey(c.Context(), dhruva.KeyID(args[0])); err != nil {
					return err
				}
				return p.print(deleted{args[0], true}, func(io.Writer) { p.say("key %s is revoked", args[0]) })
			})
		}}
}
