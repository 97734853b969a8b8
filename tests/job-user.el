;;; job-user.el --- An Emacs whose user types while a provider computes  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; The other end of job-test.el: an Emacs on a terminal, so that there is input.

;;; Code:

(require 'cl-lib)
(require 'xref)
(require 'eca-context-job)
(require 'eca-context-xref)

(defvar job-user-latest 0 "The longest time in seconds from one key to the next.")

(defun job-user-computes (&rest _)
  "Compute for a second without a pause."
  (let ((start (float-time)))
    (while (< (- (float-time) start) 1)))
  (list :provider "computes" :kind "textual" :status "ok"))
(put 'job-user-computes 'eca-context-computes t)

;; One who looks names up by waiting for a second.
(setq-default xref-backend-functions '(job-user-backend))
(defun job-user-backend () "Return the backend that waits." 'job-user-waits)
(cl-defmethod xref-backend-identifier-at-point ((_ (eql 'job-user-waits))) "name")
(cl-defmethod xref-backend-definitions ((_ (eql 'job-user-waits)) _) (sleep-for 1))

(defun job-user-write (out format &rest arguments)
  "Append to the file OUT what FORMAT makes of ARGUMENTS."
  (write-region (apply #'format format arguments) nil out t 'silent))

(defun job-user-works (&rest _)
  "Compute for 5 milliseconds."
  (let ((start (float-time)))
    (while (< (- (float-time) start) 0.005)))
  (list :provider "works" :kind "textual" :status "ok"))

(defun job-user-start (out function n)
  "Have N jobs ask FUNCTION.
Write into the file OUT when they begin, and the result."
  (switch-to-buffer (get-buffer-create "typed"))
  (fundamental-mode)
  (let ((last-key nil))
    (add-hook 'post-command-hook
              (lambda ()
                (when (eq this-command 'self-insert-command)
                  (when last-key
                    (setq job-user-latest (max job-user-latest (- (float-time) last-key))))
                  (setq last-key (float-time))))))
  (run-at-time 0.5 nil
               (lambda ()
                 (job-user-write out "ready\n")
                 (run-at-time 0.25 nil #'job-user-ask out function n))))

(defun job-user-ask (out function n)
  "Have N jobs ask FUNCTION, and write into OUT what the last one said."
  (dotimes (_ n)
    (eca-context-job-soon
     #'eca-context-job-run
     (list (eca-context-job-chain :key :a :functions (list function) :buffer (current-buffer)))
     (+ (float-time) 5)
     (lambda (result)
       (setq n (1- n))
       (when (= n 0)
         (let ((outcome (car (plist-get result :a))))
           (job-user-write out "%S over\n"
                           (list (list (plist-get outcome :provider) (plist-get outcome :status))
                                 (with-current-buffer "typed" (buffer-string))
                                 job-user-latest))))))))

(provide 'job-user)
;;; job-user.el ends here
