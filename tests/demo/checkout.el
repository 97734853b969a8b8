;;; checkout.el --- Print what a cart costs  -*- lexical-binding: t; -*-

;;; Commentary:

;; The other half.  A mistake is left in on purpose: the demo asks what is wrong near it.

;;; Code:

(require 'cart)

(defvar checkout-currency "€"
  "The sign before a price.")

(defun checkout-print (items)
  "Print the price of ITEMS."
	(message "🛒 %s %s" checkout-currency (cart-total items)))

(defun checkout-refund (items)
  "Print what is given back for ITEMS."
  (checkout-prnt items))

(provide 'checkout)
;;; checkout.el ends here
