package main

// The demo's customers and products, and a file for what it stores. Replace them by your database.

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const month = 30 * 24 * time.Hour // how long a login lasts

type record = map[string]string

var customers = []record{
	{"id": "awa", "firstname": "Awa", "lastname": "Ngono", "email": "awa@example.com"},
	{"id": "fatou", "firstname": "Fatou", "lastname": "Sali", "phone": "237670000000"},
	{"id": "paul", "firstname": "Paul", "lastname": "Biyik", "email": "paul@example.com"},
}

var products = []record{
	{"id": "trainers", "amount": "45000", "en": "Wouri trainers", "fr": "Baskets Wouri"},
	{"id": "sandals", "amount": "12500", "en": "Kribi sandals", "fr": "Sandales Kribi"},
}

func find(records []record, id string) record {
	for _, record := range records {
		if record["id"] == id {
			return record
		}
	}
	return nil
}

// Data is what the file has.
type Data struct {
	Orders []*Order
	Logins map[string]Login // by the hash of the token in the cookie
}

// Login is a customer who has signed in.
type Login struct {
	Customer string
	Began    time.Time
}

// Order is a customer's basket with a product, and the newest event of it.
type Order struct {
	Customer, Basket, Product string
	Event
}

// Store is a file, which one process uses.
type Store struct {
	mutex sync.Mutex
	file  string
}

// Use reads the data or changes them. When it returns, a change is on disk. If it cannot be
// stored, the panic ends this request alone, without an answer.
func (store *Store) Use(use func(data *Data)) {
	store.mutex.Lock()
	defer store.mutex.Unlock()
	before, err := os.ReadFile(store.file)
	if os.IsNotExist(err) {
		before, err = []byte(`{"Logins": {}}`), nil
	}
	check(err)
	var data Data
	check(json.Unmarshal(before, &data))
	use(&data)
	after, err := json.MarshalIndent(data, "", "  ")
	check(err)
	if bytes.Equal(before, after) {
		return
	}
	file, err := os.OpenFile(store.file+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	check(err)
	defer file.Close()
	_, err = file.Write(after)
	check(err)
	check(file.Sync())
	check(os.Rename(file.Name(), store.file))
	folder, err := os.Open(filepath.Dir(store.file))
	check(err)
	defer folder.Close()
	check(folder.Sync())
}

// A login is found by the hash of the random token in its cookie.
func loginOf(r *http.Request) (login, customer string) {
	if cookie, err := r.Cookie("shop"); err == nil {
		login = hash(cookie.Value)
	}
	store.Use(func(data *Data) {
		if found := data.Logins[login]; time.Since(found.Began) < month {
			customer = found.Customer
		}
	})
	return login, customer
}

func hash(token string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(token)))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
