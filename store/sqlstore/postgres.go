package sqlstore

import (
	"context"
	"crypto/tls"
	"fmt"
	"io/fs"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dhruva-memory/dhruva"
)

// oldestPostgres is the first version whose SQL and row-level security the
// statements need.
const oldestPostgres = 15

// Times of connections. A peer that is gone is noticed by keepalive where
// nothing is waited for, and by deadlines where something is.
const (
	postgresConnectTime = 10 * time.Second
	postgresKeepalive   = 15 * time.Second
)

// isPostgres tells a URL from a path.
func isPostgres(at string) bool {
	return strings.HasPrefix(at, "postgres://") || strings.HasPrefix(at, "postgresql://")
}

// postgres makes connections to a database.
type postgres struct {
	config  *pgconn.Config
	named   bool          // statements are prepared under names
	timeout time.Duration // of what has no deadline
	secrets secrets
	life    context.Context // that of the store, once it is open
	ending  sync.WaitGroup  // requests to end what connections did that are gone
}

// postgresDialect is PostgreSQL at a URL, in the first schema of its
// search_path.
func postgresDialect(at string, o Options) (*dialect, error) {
	schema, err := fs.Sub(migrations, "migrations/postgres")
	if err != nil {
		return nil, err
	}
	p, err := parsePostgres(at)
	if err != nil {
		return nil, err
	}
	p.timeout = positive(o.WriteTimeout, defaultTimeout)
	n, err := newNotifier(p, o)
	if err != nil {
		return nil, err
	}
	return &dialect{
		name: p.name(), schema: schema, write: p.dial, read: p.dial, writers: 8, readers: 12, batch: 60,
		tables: `SELECT c.relname::text FROM pg_class c WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema()))
			AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
			AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
			ORDER BY c.relname`,
		columns: `SELECT a.attname::text, coalesce(k.place, 0)::bigint FROM pg_attribute a
			LEFT JOIN (SELECT p.attnum, p.place FROM pg_index i, unnest(i.indkey::int2[]) WITH ORDINALITY AS p (attnum, place)
				WHERE i.indisprimary AND i.indrelid = to_regclass(quote_ident($1))) k ON k.attnum = a.attnum
			WHERE a.attrelid = to_regclass(quote_ident($1)) AND a.attnum > 0 AND NOT a.attisdropped`,
		parents: `SELECT DISTINCT c.relname::text FROM pg_constraint k JOIN pg_class c ON c.oid = k.confrelid
			WHERE k.contype = 'f' AND k.conrelid = to_regclass(quote_ident($1))`,
		// Tables are read page by page in the order of their keys: the plan is known,
		// and a planner without statistics would sort what is left for each page.
		everything: "SELECT set_config('dhruva.reach', 'all', true) || set_config('enable_sort', 'off', true) || " +
			"set_config('enable_bitmapscan', 'off', true) || set_config('enable_seqscan', 'off', true)",
		lockSchema: "SELECT pg_advisory_xact_lock(hashtextextended('dhruva.migrate.v1 ' || current_schema(), 0)), set_config('dhruva.reach', 'all', true)",
		lockRows:   " FOR UPDATE SKIP LOCKED",
		wide:       "SELECT set_config('dhruva.reach', 'system', true)",
		narrow:     "SELECT set_config('dhruva.reach', '', true)",
		check: []string{`SELECT 'index ' || i.indexrelid::regclass::text || ' is not valid' FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
			WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema())) AND NOT (i.indisvalid AND i.indisready) LIMIT 20`,
			`SELECT 'constraint ' || conname::text || ' is not valid' FROM pg_constraint
			WHERE connamespace = to_regnamespace(quote_ident(current_schema())) AND NOT convalidated LIMIT 20`},
		start: n.start, watch: n.watch,
		close: func() error { p.ending.Wait(); return nil },
	}, nil
}

// parsePostgres reads a URL. What it says about a bad one shows no part of it
// that may be secret.
func parsePostgres(at string) (*postgres, error) {
	u, err := url.Parse(at)
	if err != nil {
		return nil, fmt.Errorf("%w: not a valid URL of a PostgreSQL database", dhruva.ErrInvalid)
	}
	hide := secretsOf(u)
	c, err := pgx.ParseConfig(at)
	if err != nil {
		hide.add(at)
		return nil, fmt.Errorf("%w: %s", dhruva.ErrInvalid, hide.redact(err.Error()))
	}
	hide.add(c.Password)
	hide.shown = append(hide.shown, c.User, c.Database, c.Host)
	p := &postgres{config: &c.Config, secrets: hide}
	switch c.DefaultQueryExecMode {
	case pgx.QueryExecModeCacheStatement:
		p.named = true
		for name, value := range planning {
			setDefault(c.RuntimeParams, name, value)
		}
	case pgx.QueryExecModeSimpleProtocol:
		return nil, fmt.Errorf("%w: default_query_exec_mode=simple_protocol is not supported; for a pooler in transaction mode use exec", dhruva.ErrInvalid)
	}
	if c.ConnectTimeout == 0 || c.ConnectTimeout > postgresConnectTime {
		c.ConnectTimeout = postgresConnectTime
	}
	return p, nil
}

// planning: every statement has an index for what it reads, and is to use it
// whatever the statistics say. They may be those of a table that was empty when
// the plan was made, which is made once.
var planning = map[string]string{
	"application_name": "dhruva", "plan_cache_mode": "force_generic_plan", "jit": "off",
	"enable_seqscan": "off", "enable_bitmapscan": "off", "enable_sort": "off",
	"enable_hashjoin": "off", "enable_mergejoin": "off", "enable_material": "off", "enable_memoize": "off",
}

func setDefault(params map[string]string, name, value string) {
	if _, ok := params[name]; !ok {
		params[name] = value
	}
}

// name is the database without its password and parameters.
func (p *postgres) name() string {
	host := p.config.Host
	if !strings.HasPrefix(host, "/") {
		host += ":" + strconv.Itoa(int(p.config.Port))
	}
	return "postgres " + p.config.User + "@" + host + "/" + p.config.Database
}

// dial makes a connection and checks it.
func (p *postgres) dial(ctx context.Context) (conn, error) {
	raw, err := pgconn.ConnectConfig(ctx, p.config)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", dhruva.ErrUnavailable, hidden{err, p.secrets})
	}
	keepalive(raw)
	taken, err := raw.Hijack() // from here on the protocol is ours: statements are pipelined
	if err != nil {
		return nil, err
	}
	c := newPgConn(taken, p)
	c.bound(ctx)
	if err := c.ready(); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// keepalive notices a peer that is gone while nothing is waited for.
func keepalive(c *pgconn.PgConn) {
	raw := c.Conn()
	if t, ok := raw.(*tls.Conn); ok {
		raw = t.NetConn()
	}
	if tcp, ok := raw.(interface {
		SetKeepAlive(bool) error
		SetKeepAlivePeriod(time.Duration) error
	}); ok {
		tcp.SetKeepAlive(true)
		tcp.SetKeepAlivePeriod(postgresKeepalive)
	}
}

// hidden is an error whose text shows no secrets.
type hidden struct {
	err     error
	secrets secrets
}

func (h hidden) Error() string { return h.secrets.redact(h.err.Error()) }
func (h hidden) Unwrap() error { return h.err }

const pgServer = `SELECT coalesce(current_schema()::text, ''), current_setting('server_version_num')::bigint,
	current_setting('server_encoding'), current_setting('client_encoding')`

// ready refuses a server that cannot keep a store.
func (c *pgConn) ready() error {
	r, err := c.query(pgServer)
	if err != nil {
		return err
	}
	defer r.Close()
	var version int64
	var encoding, client string
	if !r.Next() {
		return fmt.Errorf("%w: the server does not tell its version: %w", dhruva.ErrUnavailable, r.Err())
	}
	if err := r.Scan(&c.schema, &version, &encoding, &client); err != nil {
		return err
	}
	return fit(c.schema, version, encoding, client)
}

// fit says why a server cannot keep a store.
func fit(schema string, version int64, encoding, client string) error {
	switch {
	case version < oldestPostgres*10000:
		return fmt.Errorf("%w: PostgreSQL %d.%d is older than %d", dhruva.ErrInvalid, version/10000, version%10000, oldestPostgres)
	case encoding != "UTF8" || client != "UTF8":
		return fmt.Errorf("%w: the encodings of the database and the connection are %s and %s, want UTF8", dhruva.ErrInvalid, encoding, client)
	case schema == "":
		return fmt.Errorf("%w: no schema of the search_path exists", dhruva.ErrInvalid)
	}
	return nil
}
