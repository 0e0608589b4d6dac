package recorder

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/retrial-dev/retrial/server/wire"
)

// The environment variables of the endpoint, by the names that its users know. A key is never given by a flag: those stand in
// lists of processes and histories of shells.
const (
	BaseURLVariable = "OPENAI_BASE_URL"
	KeyVariable     = "OPENAI_API_KEY"
)

// maxResponseBytes bounds a response, and maxErrorBytes the part of an error's that is read.
const (
	maxResponseBytes = 16 << 20
	maxErrorBytes    = 64 << 10
)

// Endpoint is an OpenAI-compatible endpoint. It speaks HTTP by itself: a prompt's file goes out as it is, and no library sends
// bytes that it was given, leaves the attempts to its caller and says what Retry-After was.
type Endpoint struct {
	base   *url.URL
	key    string
	client *http.Client
}

// NewEndpoint takes a base URL such as "https://host/v1", and the key, which may be empty. Over HTTP without TLS a key goes to this
// machine alone. Errors do not repeat the key, nor a password of the URL.
func NewEndpoint(baseURL, key string) (*Endpoint, error) {
	base, err := url.Parse(strings.TrimSpace(baseURL))
	switch {
	case err != nil, base.Host == "", base.Scheme != "http" && base.Scheme != "https":
		return nil, errors.New("it is no URL such as https://host/v1")
	case base.User != nil || base.RawQuery != "" || base.Fragment != "":
		return nil, errors.New("it has a user, a query or a fragment: a key belongs into " + KeyVariable)
	}
	if key = strings.TrimSpace(key); strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New(KeyVariable + " has a space, a line feed or another character that no key has")
	}
	if port := base.Port(); base.Scheme == "http" && key != "" && !wire.Local(net.JoinHostPort(base.Hostname(), port)) {
		return nil, errors.New("it is not encrypted, and the key would be read on its way: use https")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxResponseHeaderBytes = 64 << 10
	return &Endpoint{base: base, key: key, client: &http.Client{
		Transport: transport,
		// Another address is another endpoint, and the prompt and the key are not for it.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// String names the endpoint in messages.
func (e *Endpoint) String() string { return e.base.String() }

// GoString keeps the key out of %#v.
func (e *Endpoint) GoString() string { return e.String() }

// Close lets go of idle connections.
func (e *Endpoint) Close() error {
	e.client.CloseIdleConnections()
	return nil
}

// Ask implements Model.
func (e *Endpoint) Ask(ctx context.Context, q Question) (Answer, error) {
	r, err := newRequest(q)
	if err != nil {
		return Answer{}, final("%w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.base.JoinPath(r.path).String(), bytes.NewReader(r.body))
	if err != nil {
		return Answer{}, final("%w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.GetBody = nil // or else net/http sends it again on a connection that broke, and nobody counts it
	if e.key != "" {
		req.Header.Set("Authorization", "Bearer "+e.key)
	}
	res, err := e.client.Do(req)
	if err != nil {
		return Answer{}, &Failure{Temporary: true, Err: err}
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return Answer{}, refusal(res)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxResponseBytes+1))
	switch {
	case err != nil:
		return Answer{}, &Failure{Status: res.Status, Temporary: true, Err: fmt.Errorf("the response was cut: %w", err)}
	case len(body) > maxResponseBytes:
		return Answer{}, &Failure{Status: res.Status, Err: fmt.Errorf("the response is over the limit of %d bytes", maxResponseBytes)}
	}
	return ReadResponse(r.form, body)
}

// refusal gives what a status other than 200 says.
func refusal(res *http.Response) *Failure {
	f := &Failure{Status: res.Status, RetryAfter: retryAfter(res.Header, time.Now())}
	switch code := res.StatusCode; {
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code >= 500:
		f.Temporary = true
	case code >= 300 && code < 400:
		f.Err = errors.New("the endpoint sends elsewhere, where the key is not sent: set " + BaseURLVariable + " to its address")
		return f
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBytes))
	var said struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	switch {
	case json.Unmarshal(body, &said) == nil && said.Error.Message != "":
		f.Err = errors.New(said.Error.Message)
	case len(body) > 0:
		f.Err = errors.New(string(body))
	default:
		f.Err = errors.Join(errors.New("it says no more"), err)
	}
	return f
}

// retryAfter reads Retry-After: seconds, or an instant (RFC 9110, 10.2.3); 0 where there is none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(text, 64); err == nil && s > 0 {
		return time.Duration(min(s, 1e6) * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}
