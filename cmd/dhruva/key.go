package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dhruva-memory/dhruva"
	"github.com/dhruva-memory/dhruva/auth"
	"github.com/dhruva-memory/dhruva/client"
)

func (p *program) keyCommand() *cobra.Command {
	return group("key", "Keys: who may do what", `  dhruva key create --space work --scopes memory:read,memory:write,proxy --json
  dhruva key list
  dhruva key revoke KEY`, p.making(p.repeatable(p.keyCreate())), p.keyList(), p.repeatable(p.keyRevoke()))
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
				names := p.spaceNames(c.Context(), api)
				return printList(p, l, "ID NAME KEY STATE EXPIRES SPACE PROVIDER SCOPES", func(k client.Key) []string {
					return []string{string(k.ID), k.Name, k.Label, keyState(k), expiry(k), keySpaces(k, names), keyProvider(k), scopeNames(k.Scopes)}
				})
			})
		}}
	g.flags(c)
	return c
}

// spaceNames are the names of the spaces, for tables; without them, where they
// cannot be had, a table shows ids.
func (p *program) spaceNames(ctx context.Context, api *client.Client) map[dhruva.SpaceID]string {
	names := map[dhruva.SpaceID]string{}
	if p.flags.json || p.flags.quiet {
		return names
	}
	for page := (dhruva.Page{Limit: 1000}); ; {
		l, err := api.Spaces(ctx, page)
		if err != nil {
			return names
		}
		for _, s := range l.Items {
			names[s.ID] = s.Name
		}
		if page.After = l.Next; l.Next == "" {
			return names
		}
	}
}

// keySpaces are the spaces a key reaches, its own first.
func keySpaces(k client.Key, names map[dhruva.SpaceID]string) string {
	var out []string
	for _, id := range slices.Compact(append([]dhruva.SpaceID{k.Space}, k.Spaces...)) {
		if id != "" {
			out = append(out, or(names[id], string(id)))
		}
	}
	return or(strings.Join(out, ","), "all")
}

func keyProvider(k client.Key) string {
	if k.Test {
		return echoName
	}
	return or(k.Provider, "any")
}

func expiry(k client.Key) string {
	if k.ExpiresAt.IsZero() {
		return "never"
	}
	return when(k.ExpiresAt)
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
	var yes bool
	c := &cobra.Command{Use: "revoke KEY", Short: "End a key at once", Example: "  dhruva key revoke KEY", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return p.with(c.Context(), func(api *client.Client) error { return p.revokeKey(c.Context(), api, dhruva.KeyID(args[0]), yes) })
		}}
	c.Flags().BoolVar(&yes, "yes", false, "also the administrator key of this machine's commands")
	return c
}

func (p *program) revokeKey(ctx context.Context, api *client.Client, id dhruva.KeyID, yes bool) error {
	admin, err := p.isAdminKey(ctx, api, id)
	if err != nil {
		return err
	}
	if admin && !yes {
		return withFix(usage("this is the key in %s: with it revoked every command on this machine is refused until there is a new one", auth.AdminKeyFile),
			"add --yes; afterwards delete %s and run any command: a new one is made", p.adminFile())
	}
	err = api.RevokeKey(ctx, id)
	if errors.Is(err, dhruva.ErrNotFound) {
		return withFix(fmt.Errorf("%w: no key %q", dhruva.ErrNotFound, id), "`dhruva key list` shows what is there")
	}
	if err != nil {
		return err
	}
	return p.print(deleted{string(id), true}, func(io.Writer) {
		p.say("key %s is revoked", id)
		if admin {
			p.say("next: delete %s and run any command: a new one is made", p.adminFile())
		}
	})
}

// isAdminKey reports whether a key is the one that commands find in a data
// directory: of this machine by the file itself, of another by its name.
func (p *program) isAdminKey(ctx context.Context, api *client.Client, id dhruva.KeyID) (bool, error) {
	for page := (dhruva.Page{Limit: 1000}); ; {
		l, err := api.Keys(ctx, page)
		if err != nil {
			return false, err
		}
		for _, k := range l.Items {
			if k.ID == id {
				return k.Name == auth.AdminKeyFile && k.RevokedAt.IsZero() && p.holds(k.Label), nil
			}
		}
		if page.After = l.Next; l.Next == "" {
			return false, nil
		}
	}
}

// holds reports whether the key of a label may be the one in admin.key here.
func (p *program) holds(label string) bool {
	dir, err := p.dataDir()
	if err != nil {
		return true
	}
	key, err := adminKey(dir)
	return err != nil || auth.Label(auth.NewSecret(key)) == label
}

// adminFile is the path of admin.key, or its name where no directory is known.
func (p *program) adminFile() string {
	dir, err := p.dataDir()
	if err != nil {
		return auth.AdminKeyFile
	}
	return filepath.Join(dir, auth.AdminKeyFile)
}
