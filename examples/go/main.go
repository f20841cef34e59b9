// A shop in Go beside `guichet shop`, which takes its payments. This file has the demo's page
// and its sign-in. Replace them by yours.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

var (
	origin   = setting("SHOP_URL", "http://127.0.0.1:8000") // this server, as browsers name it
	guichet  = Guichet{Address: setting("GUICHET_SHOP", "http://127.0.0.1:4244"), Name: "shoes"}
	merchant = setting("GUICHET_MERCHANT", guichet.Address+"/guichet") // as browsers name it
	service  = setting("GUICHET_PUBLIC_URL", "http://127.0.0.1:4243")
	store    = Store{file: setting("SHOP_DATABASE", "shop.json")}
)

type object = map[string]any

func setting(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return strings.TrimSuffix(value, "/")
	}
	return otherwise
}

func main() {
	log.SetFlags(0)
	var err error
	if guichet.Secrets, err = ReadSecrets(); err != nil {
		log.Fatal(err)
	}
	listen := setting("HOST", "127.0.0.1") + ":" + setting("PORT", portOf(origin))
	server := http.Server{Addr: listen, Handler: http.HandlerFunc(serve)}
	server.ReadTimeout = 10 * time.Second
	log.Print("Open ", origin)
	log.Fatal(server.ListenAndServe())
}

func portOf(origin string) string {
	address, err := url.Parse(origin)
	if err != nil || address.Port() == "" {
		return "8000"
	}
	return address.Port()
}

func serve(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
	var status int
	var answer any
	switch r.Method + " " + r.URL.Path {
	case "POST /payments":
		status, answer = answerMessage(r)
	case "POST /sign-in", "POST /sign-out":
		status, answer = changeLogin(w, r)
	case "GET /shop":
		status, answer = showShop(r)
	case "GET /":
		showPage(w)
		return
	default:
		http.FileServer(http.Dir("page")).ServeHTTP(w, r)
		return
	}
	w.Header().Set("content-type", "application/json")
	w.Header().Set("cache-control", "no-store")
	w.WriteHeader(status)
	if answer != nil {
		_ = json.NewEncoder(w).Encode(answer)
	}
}

func refuse(status int, code, message string) (int, any) {
	return status, object{"code": code, "message": message}
}

// Both addresses end the former login. The demo's sign-in needs no password.
func changeLogin(w http.ResponseWriter, r *http.Request) (status int, answer any) {
	sender, site := r.Header.Get("origin"), r.Header.Get("sec-fetch-site")
	isOwnSite := site == "" || site == "none" || site == "same-origin"
	if !isOwnSite || (sender != "" && sender != origin) {
		return refuse(403, "cross_site", "Only pages of this shop may send this.")
	}
	wanted := struct{ Customer string }{r.PostFormValue("customer")}
	isJSON := strings.HasPrefix(r.Header.Get("content-type"), "application/json")
	if isJSON && json.NewDecoder(r.Body).Decode(&wanted) != nil {
		return refuse(400, "invalid_json", "This is no JSON.")
	}
	cookie := http.Cookie{Name: "shop", Path: "/", MaxAge: -1, HttpOnly: true}
	cookie.SameSite, cookie.Secure = http.SameSiteLaxMode, strings.HasPrefix(origin, "https:")
	if r.URL.Path == "/sign-in" {
		if find(customers, wanted.Customer) == nil {
			return refuse(422, "customer_unknown", "There is no such customer.")
		}
		cookie.Value, cookie.MaxAge = randomHex(32), int(month.Seconds())
	}
	former, customer := loginOf(r)
	store.Use(func(data *Data) {
		delete(data.Logins, former)
		if cookie.Value != "" {
			data.Logins[hash(cookie.Value)] = Login{wanted.Customer, time.Now()}
		}
	})
	if customer != "" {
		if err := guichet.EndLogin(former); err != nil {
			log.Print("A login has ended, and its pages' sessions go on: ", err)
		}
	}
	http.SetCookie(w, &cookie)
	if isJSON {
		return 200, object{}
	}
	w.Header().Set("location", "/")
	return 303, nil
}

// What the demo's page shows.
func showShop(r *http.Request) (status int, answer any) {
	_, customer := loginOf(r)
	names, orders := []string{}, []object{}
	for _, customer := range customers {
		names = append(names, customer["id"])
	}
	store.Use(func(data *Data) {
		for _, order := range data.Orders {
			if order.Customer != customer {
				continue
			}
			shown := object{"id": order.Name, "basket": order.Basket, "product_id": order.Product}
			shown["refunds"] = len(order.RefundsDue)
			if order.PaidBy != nil {
				shown["paid_by"] = order.PaidBy.Reference
			}
			orders = append(orders, shown)
		}
	})
	shop := object{"base_url": service, "merchant": merchant, "customer": nil}
	shop["customers"], shop["products"], shop["orders"] = names, products, orders
	if customer != "" {
		shop["customer"] = customer
	}
	return 200, shop
}

// The forms of a page without script buy at `guichet shop`, too.
func showPage(w http.ResponseWriter) {
	html, err := os.ReadFile("page/index.html")
	check(err)
	w.Header().Set("cache-control", "no-store")
	fmt.Fprint(w, strings.ReplaceAll(string(html), `"/guichet/`, `"`+merchant+"/"))
}
