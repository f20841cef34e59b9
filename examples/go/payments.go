package main

// What the shop answers to `guichet shop`: who is signed in, what an order costs. And what it
// stores: what an order has become. Replace its data by yours.

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"regexp"
	"strings"
)

var isName = regexp.MustCompile(`^[\w-]{1,64}$`).MatchString

// The one address that `guichet shop` calls.
func answerMessage(r *http.Request) (status int, answer any) {
	message, err := guichet.Read(r)
	switch {
	case err != nil:
		return refuse(400, "message_invalid", err.Error())
	case message.Type == "customer":
		return customerOf(r)
	case message.Type == "purchase":
		return purchaseOf(message)
	case message.Type == "order_changed":
		return changeOrder(message.Event)
	}
	return refuse(400, "message_unknown", "This type of message is unknown.")
}

// The request has the cookie of the browser.
func customerOf(r *http.Request) (status int, answer any) {
	login, id := loginOf(r)
	if id == "" {
		return refuse(401, "authentication_required", "Nobody is signed in.")
	}
	customer := object{"login": login, "email_verified": true}
	for member, value := range find(customers, id) {
		customer[member] = value
	}
	return 200, customer
}

// The page names a product and its basket. The server sets price, customer and order.
func purchaseOf(message Message) (status int, answer any) {
	var customer struct{ ID, Language string }
	var wanted struct{ ID, Product string }
	_ = json.Unmarshal(message.Customer, &customer)
	_ = json.Unmarshal(message.Order, &wanted) // what is no object names no order
	order := orderOf(customer.ID, wanted.ID, wanted.Product)
	if order == nil {
		return refuse(404, "order_missing", "There is no such order.")
	}
	product := find(products, order.Product)
	if product == nil {
		message := "The shop no longer sells this."
		return 409, object{"code": "order_ended", "message": message, "name": order.Name}
	}
	back := origin + "/"
	if strings.HasPrefix(order.Basket, "next:") {
		back = merchant + "/return" // of a customer without script
	}
	return 200, object{"name": order.Name, "purchase": object{
		"amount": product["amount"], "currency": "XAF", "fee_bearer": "customer",
		"description": product[customer.Language], "redirect_url": back,
	}}
}

// A form has no number of its own: the id `next` means one order of this product, until that is
// paid. No page can name that order, because of the colon.
func orderOf(customer, id, product string) (found *Order) {
	if !isName(id) || !isName(product) {
		return nil
	}
	store.Use(func(data *Data) {
		basket, paid := id, 0
		for _, order := range data.Orders {
			isOwn := order.Customer == customer && order.Product == product
			isForm := id == "next" && strings.HasPrefix(order.Basket, "next:")
			if isOwn && (order.Basket == id || isForm && order.PaidBy == nil) {
				found = order
				return
			}
			if isOwn && isForm {
				paid++
			}
		}
		if id == "next" {
			basket = fmt.Sprint("next:", paid)
		}
		if find(products, product) != nil {
			found = &Order{Customer: customer, Basket: basket, Product: product}
			found.Name = "ORDER-" + randomHex(8)
			data.Orders = append(data.Orders, found)
		}
	})
	return found
}

// An older event changes nothing. A newer one is stored before the answer.
func changeOrder(event Event) (status int, answer any) {
	var before *Event
	store.Use(func(data *Data) {
		for _, order := range data.Orders {
			if order.Name == event.Name {
				former := order.Event
				before = &former
				if event.Restored && event.State == "unpaid" && former.State == "paid" {
					log.Print(event.Name, " is paid here, and a restored ledger has lost that: look at it.")
					event.State, event.PaidBy = former.State, former.PaidBy
				}
				if event.Version > former.Version {
					order.Event = event
				}
			}
		}
	})
	if before == nil { // it comes again, so that it is not lost
		return refuse(404, "order_missing", "There is no such order.")
	}
	if event.Version > before.Version {
		report(*before, event)
	}
	return 204, nil
}

// Ship what is stored as `paid`: the process may end before it reports that.
func report(before, after Event) {
	if after.State != before.State {
		switch after.State {
		case "paid":
			log.Print(after.Name, " is paid.")
		case "paid_other_sum":
			log.Print(after.Name, " is paid with another sum: a person decides.")
		case "paid_after_end":
			log.Print(after.Name, " is paid after its end: a person decides.")
		}
	}
	known := map[string]bool{}
	for _, refund := range before.RefundsDue {
		known[refund.ID+refund.Attempt] = true
	}
	for _, refund := range after.RefundsDue {
		if known[refund.ID+refund.Attempt] {
			continue
		}
		payment, sum := refund.ID, refund.Amount+" "+refund.Currency
		if refund.Attempt != "" {
			payment += ", attempt " + refund.Attempt
		}
		if refund.PlusFee {
			sum += " and the fee"
		}
		log.Printf("%s: a refund of %s is due (%s).", after.Name, sum, payment)
	}
}
