package sqlstore

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dhruva-memory/dhruva"
)

// Hints between processes on Postgres. NOTIFY never runs in a transaction that
// writes: it would take one lock of the whole server until the commit. After
// commits a notifier tells the dirty scopes, many in one message. A message may
// be lost (its sender dies, the listener's connection does): polling is the
// truth.

const (
	pgChannel = "SELECT 'dhruva_' || to_regclass(quote_ident(current_schema()) || '.migrations')::oid::text"
	pgNotify  = "SELECT pg_notify($1, $2)"
	pgAsync   = "SELECT set_config('synchronous_commit', 'off', true)"
	// pgMark changes with every transaction that writes, in any database of the
	// server.
	pgMark = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text"
	// maxPayload is what a message holds; the server's own limit is 8,000 bytes.
	maxPayload = 7900
)

// notifier sends hints, and knows its own.
type notifier struct {
	db      *postgres
	listens *pgconn.Config // nil: the connections go through a pooler, which does not listen
	sender  string
	channel string // that of the schema, once it is known
	s       *Store
}

// newNotifier listens at the URL that the options give, else where all
// connections go, unless statements cannot be prepared there.
func newNotifier(db *postgres, o Options) (*notifier, error) {
	var id [8]byte
	rand.Read(id[:])
	n := &notifier{db: db, sender: hex.EncodeToString(id[:])}
	to := db
	switch {
	case o.ListenURL != "":
		var err error
		if to, err = parsePostgres(o.ListenURL); err != nil {
			return nil, fmt.Errorf("listen: %w", err)
		}
	case !db.named:
		return n, nil
	}
	n.listens = to.config.Copy()
	n.listens.OnNotification = func(_ *pgconn.PgConn, m *pgconn.Notification) { n.heard(m.Payload) }
	return n, nil
}

// start begins to tell others, when the schema is there.
func (n *notifier) start(s *Store, c conn) error {
	names, err := texts(c, pgChannel)
	if err != nil {
		return err
	}
	n.s, n.channel, s.hints.notify, n.db.life = s, names[0], newDirty(), s.life
	s.telling.Go(n.run)
	return nil
}

// watch listens, where the connection can, and polls.
func (n *notifier) watch(ctx context.Context, s *Store) {
	every := s.options.PollInterval
	if n.listens != nil {
		every = s.options.SweepInterval
		s.running.Go(func() { n.listen(ctx) })
	}
	s.poll(ctx, every, func(ctx context.Context) (mark string, err error) {
		ctx, cancel := context.WithTimeout(ctx, n.db.timeout)
		defer cancel()
		err = s.read(ctx, dhruva.SystemScope(), func(t *tx) error {
			mark, err = one(t, "mark", func(r scanner) (v string, err error) { return v, r.Scan(&v) }, pgMark)
			return err
		})
		return mark, err
	})
}

// listen hints what others tell, and everything whenever something may have
// been missed.
func (n *notifier) listen(ctx context.Context) {
	for ctx.Err() == nil {
		if c, err := n.listening(ctx); err == nil {
			n.s.hints.mark(everywhere)
			for err == nil {
				err = c.WaitForNotification(ctx)
			}
			closing, cancel := context.WithTimeout(context.Background(), time.Second)
			c.Close(closing)
			cancel()
			n.s.hints.mark(everywhere)
		}
		select {
		case <-time.After(n.s.options.PollInterval):
		case <-ctx.Done():
		}
	}
}

func (n *notifier) listening(ctx context.Context) (*pgconn.PgConn, error) {
	ctx, cancel := context.WithTimeout(ctx, n.db.timeout)
	defer cancel()
	c, err := pgconn.ConnectConfig(ctx, n.listens)
	if err != nil {
		return nil, err
	}
	keepalive(c)
	if _, err := c.Exec(ctx, `LISTEN "`+n.channel+`"`).ReadAll(); err != nil {
		c.Close(ctx)
		return nil, err
	}
	return c, nil
}

// heard reads a message: its sender and the scopes, or everything.
func (n *notifier) heard(payload string) {
	sender, text, _ := strings.Cut(payload, " ")
	if sender == n.sender {
		return
	}
	var pairs [][2]string
	scopes := everywhere
	if json.Unmarshal([]byte(text), &pairs) == nil && len(pairs) > 0 {
		scopes = nil
		for _, p := range pairs {
			scopes = append(scopes, dhruva.SpaceScope(dhruva.TenantID(p[0]), dhruva.SpaceID(p[1])))
		}
	}
	n.s.hints.mark(scopes)
}

// payloads are the messages that tell scopes; one that does not fit is
// everything.
func (n *notifier) payloads(scopes []dhruva.Scope) (out []string) {
	line := ""
	for _, s := range scopes {
		pair, err := json.Marshal([2]string{string(s.Tenant()), string(s.Space())})
		if err != nil || len(pair) > maxPayload-40 {
			return []string{n.sender + " *"}
		}
		if len(line)+len(pair) > maxPayload-40 {
			out, line = append(out, n.sender+" ["+line+"]"), ""
		}
		if line != "" {
			line += ","
		}
		line += string(pair)
	}
	if line != "" {
		out = append(out, n.sender+" ["+line+"]")
	}
	return out
}

// run tells others what is dirty, until the last update has ended; then it
// tells the rest.
func (n *notifier) run() {
	one := newPool(1, n.db.dial)
	defer one.close()
	for open := true; open; {
		select {
		case <-n.s.hints.notify.wake:
		case <-n.s.quiet:
			open = false
		}
		scopes := n.s.hints.notify.take()
		if len(scopes) == 0 {
			continue
		}
		pause := n.s.options.NotifyInterval // many commits make one message
		if err := n.tell(one, scopes); err != nil {
			n.s.hints.notify.mark(everywhere) // what was not told is not known any more
			pause = max(pause, retryTell)
		}
		select {
		case <-time.After(pause):
		case <-n.s.quiet:
		}
	}
}

const (
	tellTime  = 2 * time.Second        // of one message
	retryTell = 200 * time.Millisecond // after one that failed
)

func (n *notifier) tell(p *pool, scopes []dhruva.Scope) error {
	ctx, cancel := context.WithTimeout(context.Background(), tellTime)
	defer cancel()
	c, err := p.take(ctx, nil)
	if err != nil {
		return err
	}
	defer p.give(c)
	c.bound(ctx)
	if err := firstOf(c.begin(nil), c.send(pgAsync)); err != nil {
		return err
	}
	for _, text := range n.payloads(scopes) {
		if err := c.send(pgNotify, n.channel, text); err != nil {
			break
		}
	}
	err = c.commit()
	if err != nil {
		c.rollback()
		err = fmt.Errorf("notify: %w", err)
	}
	return err
}
