package main

// The messages between `guichet shop` and an application in Go, signed by Standard Webhooks 1.0.
// Copy this file as it is.

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// Message is what `guichet shop` asks (`customer`, `purchase`) or tells (`order_changed`).
type Message struct {
	Type, Audience string
	Order          json.RawMessage // of a purchase: what the page gave
	Customer       json.RawMessage // of a purchase: the answer to `customer`, and a `language`
	Event
}

// Event is what an order has become. It comes at least once, and an older one may come later.
type Event struct {
	Name, State string
	Version     int64
	Restored    bool
	PaidBy      *struct{ Reference string } `json:"paid_by"`
	RefundsDue  []Refund                    `json:"refunds_due"`
}

// Refund is what is to be given back of a payment, or of one attempt of it.
type Refund struct {
	ID, Attempt, Amount, Currency string
	PlusFee                       bool `json:"plus_fee"` // and the fee
}

// Guichet is the process `guichet shop`.
type Guichet struct {
	Address string
	Name    string   // of the shop, as in shop.toml
	Secrets [][]byte // one, or two during a rotation: the first one signs
}

// ReadSecrets reads what the process and the application share.
func ReadSecrets() (secrets [][]byte, err error) {
	text := []byte(os.Getenv("GUICHET_APP_SECRET"))
	if len(text) == 0 {
		if text, err = os.ReadFile("app-secret"); err != nil {
			return nil, fmt.Errorf("set GUICHET_APP_SECRET, or write the file app-secret: %w", err)
		}
	}
	for _, secret := range strings.Fields(string(text)) {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil || len(key) < 24 {
			return nil, errors.New("a secret is whsec_ and at least 24 bytes in base64")
		}
		secrets = append(secrets, key)
	}
	if len(secrets) != 1 && len(secrets) != 2 {
		return nil, errors.New("there must be one secret, or two during a rotation")
	}
	return secrets, nil
}

// Read returns the message in a request: signed by one of the secrets, for this shop, and at most
// five minutes old.
func (guichet *Guichet) Read(r *http.Request) (message Message, err error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return message, err
	}
	id, timestamp := r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	age := time.Now().Unix() - seconds
	if err != nil || age > 300 || age < -300 {
		return message, errors.New("the message is too old, or the clocks differ")
	}
	isSigned := false
	for _, signature := range strings.Fields(r.Header.Get("webhook-signature")) {
		for _, secret := range guichet.Secrets {
			expected := sign(secret, id, timestamp, body)
			isSigned = isSigned || hmac.Equal([]byte(signature), []byte(expected))
		}
	}
	if !isSigned {
		return message, errors.New("the message is not signed by the secret")
	}
	err = json.Unmarshal(body, &message)
	if err == nil && message.Audience != guichet.Name {
		err = errors.New("the message is for another shop")
	}
	return message, err
}

func sign(secret []byte, id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// Without the proxies of the environment.
var client = http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{}}

// EndLogin revokes the session tokens that a login's pages have. If it fails, they end by
// themselves within half an hour.
func (guichet *Guichet) EndLogin(login string) error {
	fields := map[string]string{"type": "login_ended", "audience": guichet.Name, "login": login}
	body, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	request, err := http.NewRequest("POST", guichet.Address+"/app", bytes.NewReader(body))
	if err != nil {
		return err
	}
	id, timestamp := "msg_"+randomHex(16), fmt.Sprint(time.Now().Unix())
	request.Header.Set("content-type", "application/json")
	request.Header.Set("webhook-id", id)
	request.Header.Set("webhook-timestamp", timestamp)
	request.Header.Set("webhook-signature", sign(guichet.Secrets[0], id, timestamp, body))
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	response.Body.Close()
	if response.StatusCode != 204 {
		return fmt.Errorf("guichet shop answers %s to login_ended", response.Status)
	}
	return nil
}

func randomHex(length int) string {
	random := make([]byte, length)
	if _, err := rand.Read(random); err != nil {
		panic(err)
	}
	return fmt.Sprintf("%x", random)
}
