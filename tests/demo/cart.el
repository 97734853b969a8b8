;;; cart.el --- Items and what they cost  -*- lexical-binding: t; -*-

;;; Commentary:

;; Half of a small project that the demo asks about; see ../demo.el.

;;; Code:

(defconst cart-tax 0.2
  "What is added to a net price.")

(defun cart-total (items)
  "Return the gross price of ITEMS, a list of net prices."
  (* (apply #'+ items) (+ 1 cart-tax)))

(provide 'cart)
;;; cart.el ends here
