;;; eca-context-job.el --- Ask providers side by side, under a deadline  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; A job is a set of chains, a chain the functions of one hook.  Each function is called in a timer turn
;; of its own, so the user is served between two of them; chains run side by side, the functions of a
;; chain one after another until one gives a semantic answer that is not empty.  A function's fault,
;; silence or wish to ask the user becomes its own outcome.  It knows no feature and no request.

;;; Code:

(require 'cl-lib)
(require 'seq)
(require 'timer)

(cl-defstruct (eca-context-job--chain (:copier nil) (:constructor eca-context-job-chain))
  "The functions of one hook, asked in BUFFER at POINT (or nil) with REQUEST.
KEY says in the result what the outcomes are about."
  key functions buffer point request
  ;; Private from here: the job, the newest outcome first, the function that is being asked, its turn
  ;; (an answer of an earlier turn is late), its timer, and what to say if time is up.
  job outcomes asked (turn 0) timer (stalled "timeout"))

(cl-defstruct (eca-context-job (:copier nil))
  "ALL the chains, those not over, those that wait to compute, and the end."
  all chains waiting deadline timer done
  ;; Turns to be taken, (CHAIN FUNCTION . ARGUMENTS), and the timer that takes them.
  queue pump)

(defun eca-context-job-run (chains deadline done)
  "Ask the functions of CHAINS and call DONE once, at DEADLINE or before.
DEADLINE is a `float-time'.  DONE gets the chains' outcomes as a plist of
their keys; chains of one key are joined, in the order given.  Nothing is asked
before this has returned.

A function is called with (REQUEST CALLBACK) in the chain's buffer, widened, at
its point.  It returns an outcome, a list of outcomes, nil for \"not mine\", or
`:async', and then calls CALLBACK once with any of these.  One whose symbol has
the property `eca-context-computes' is asked last, and again when the user's
typing has interrupted it.  REQUEST says by `:deadline' when to answer at last;
that is before the job's own, so that what is known then is not lost."
  (let ((job (make-eca-context-job :chains chains :all chains :deadline deadline :done done)))
    (dolist (chain chains)
      (setf (eca-context-job--chain-job chain) job)
      (eca-context-job--later chain 0 #'eca-context-job--step chain))
    (setf (eca-context-job-timer job)
          (run-at-time (max 0 (- deadline (float-time))) nil #'eca-context-job--time-is-up job))
    (unless chains
      (run-at-time 0 nil #'eca-context-job--finish job))))

(defun eca-context-job--left (chain)
  "Return how many seconds CHAIN has left."
  (- (eca-context-job-deadline (eca-context-job--chain-job chain)) (float-time)))

(defun eca-context-job--open-p (chain)
  "Return non-nil if CHAIN is not over."
  (memq chain (eca-context-job-chains (eca-context-job--chain-job chain))))

;;;; Walking

(defun eca-context-job--later (chain seconds function &rest arguments)
  "Call FUNCTION with ARGUMENTS in SECONDS, unless CHAIN is done by then.
FUNCTION nil only takes back what was to be called."
  (let ((timer (eca-context-job--chain-timer chain))
        (job (eca-context-job--chain-job chain)))
    (when (timerp timer)
      (cancel-timer timer))
    (setf (eca-context-job--chain-timer chain)
          (cond ((null function) nil)
                ((> seconds 0) (apply #'run-at-time seconds nil function arguments))
                (t (let ((turn (cons chain (cons function arguments))))
                     (setf (eca-context-job-queue job)
                           (nconc (eca-context-job-queue job) (list turn)))
                     (eca-context-job--arm job)
                     turn))))))

(defun eca-context-job--arm (job)
  "Have what waits in the queue of JOB called."
  (unless (eca-context-job-pump job)
    (setf (eca-context-job-pump job) (run-at-time 0 nil #'eca-context-job--pump job))))

(defconst eca-context-job--slice 0.005
  "For how many seconds turns are taken one after another, unless the user types.")

(defun eca-context-job--pump (job)
  "Call what is next in the queue of JOB."
  (setf (eca-context-job-pump job) nil)
  (let ((until (+ (float-time) eca-context-job--slice)))
    (while (let ((turn (pop (eca-context-job-queue job))))
             ;; Before the call: it may wait, and the others need not wait with it.
             (when (eca-context-job-queue job)
               (eca-context-job--arm job))
             (when (and turn (eq turn (eca-context-job--chain-timer (car turn))))
               (setf (eca-context-job--chain-timer (car turn)) nil)
               (apply (cadr turn) (cddr turn)))
             (and (eca-context-job-queue job)
                  (< (float-time) until)
                  (not (input-pending-p)))))))

(defun eca-context-job--step (chain)
  "Ask the next function of CHAIN."
  (let ((function (pop (eca-context-job--chain-functions chain))))
    (setf (eca-context-job--chain-asked chain) function)
    (cond
     ((null function) (eca-context-job--close chain))
     ((not (buffer-live-p (eca-context-job--chain-buffer chain)))
      (eca-context-job--take chain (eca-context-job--failure nil "error" "the buffer was killed"))
      (eca-context-job--close chain))
     ((and (symbolp function) (get function 'eca-context-computes))
      (let ((job (eca-context-job--chain-job chain)))
        (setf (eca-context-job-waiting job) (append (eca-context-job-waiting job) (list chain)))
        ;; Half way to the deadline it waits for the others no more.
        (eca-context-job--later chain (/ (eca-context-job--left chain) 2)
                                #'eca-context-job--compute chain t)
        (eca-context-job--let-compute job)))
     (t (eca-context-job--ask chain)))))

(defun eca-context-job--ask (chain)
  "Call the function that CHAIN has come to and take its answer."
  (let ((turn (eca-context-job--chain-turn chain))
        (said 'lost))
    (eca-context-job--later chain 0 nil)
    ;; A throw past this frame, by the time limit of one that waits around us, must not lose the turn.
    (unwind-protect
        (setq said (eca-context-job--call chain))
      (when (eq said 'lost)
        (eca-context-job--later chain 0 #'eca-context-job--answer chain turn
                                (eca-context-job--silence chain))))
    (cond
     ((not (eq said :async)) (eca-context-job--answer chain turn said))
     ((= turn (eca-context-job--chain-turn chain))
      (eca-context-job--later chain (eca-context-job--share chain) #'eca-context-job--answer
                              chain turn (eca-context-job--silence chain))))))

(defun eca-context-job--callback (chain)
  "Return what the function that CHAIN asks now may call once with its answer."
  (let ((turn (eca-context-job--chain-turn chain)))
    (lambda (outcome)
      (save-match-data
        (eca-context-job--answer chain turn outcome)))))

(defun eca-context-job--answer (chain turn said)
  "Take what CHAIN's function of TURN SAID, unless that turn is over."
  (when (and (eca-context-job--open-p chain) (= turn (eca-context-job--chain-turn chain)))
    (cl-incf (eca-context-job--chain-turn chain))
    (eca-context-job--take chain said)
    (if (or (null (eca-context-job--chain-functions chain))
            (seq-some #'eca-context-job--ends-p (eca-context-job--chain-outcomes chain)))
        (eca-context-job--close chain)
      (eca-context-job--later chain 0 #'eca-context-job--step chain))))

(defun eca-context-job--ends-p (outcome)
  "Return non-nil if no other function need be asked after OUTCOME."
  (and (equal (plist-get outcome :kind) "semantic")
       (equal (plist-get outcome :status) "ok")
       (plist-get outcome :items)))

(defun eca-context-job--take (chain said)
  "Add what was SAID, an outcome, a list of them, or nil, to CHAIN."
  (dolist (outcome (if (keywordp (car-safe said)) (list said) said))
    (push outcome (eca-context-job--chain-outcomes chain))))

(defun eca-context-job--close (chain)
  "Note that CHAIN is over, and the job if it was the last one."
  (let ((job (eca-context-job--chain-job chain)))
    (when (eca-context-job--open-p chain)
      (eca-context-job--later chain 0 nil)
      (setf (eca-context-job-chains job) (remq chain (eca-context-job-chains job))
            (eca-context-job-waiting job) (remq chain (eca-context-job-waiting job)))
      (if (eca-context-job-chains job)
          (eca-context-job--let-compute job)
        (eca-context-job--finish job)))))

(defun eca-context-job--finish (job)
  "Call what JOB is to call, once."
  (let ((done (eca-context-job-done job))
        result)
    (when done
      (setf (eca-context-job-done job) nil)
      (dolist (timer (list (eca-context-job-timer job) (eca-context-job-pump job)))
        (when timer
          (cancel-timer timer)))
      (dolist (chain (eca-context-job-all job))
        (let ((key (eca-context-job--chain-key chain)))
          (setq result (plist-put result key
                                  (append (plist-get result key)
                                          (reverse (eca-context-job--chain-outcomes chain)))))))
      (save-match-data
        (funcall done result)))))

(defun eca-context-job--time-is-up (job)
  "Close the chains of JOB that are not over, each with whom it was waiting for."
  (save-match-data
    (dolist (chain (eca-context-job-chains job))
      (eca-context-job--take chain (eca-context-job--silence chain))
      (eca-context-job--close chain))))

;;;; Those that compute

(defun eca-context-job--let-compute (job)
  "Let the first chain of JOB that waits to compute do so, if no other one is busy."
  (let ((waiting (eca-context-job-waiting job)))
    (when (and waiting
               (seq-every-p (lambda (chain) (memq chain waiting)) (eca-context-job-chains job)))
      (eca-context-job--later (car waiting) 0 #'eca-context-job--compute (car waiting) t))))

(defun eca-context-job--compute (chain is-first)
  "Call the computing function that CHAIN has come to; the user's input wins.
Unless IS-FIRST, only when the user has done nothing for half a second."
  (let* ((turn (eca-context-job--chain-turn chain))
         (idle (current-idle-time))
         (said (and (or is-first noninteractive (and idle (> (float-time idle) 0.5)))
                    (while-no-input (list (eca-context-job--call chain))))))
    (cond
     ((not (eca-context-job--open-p chain)))
     ((not (consp said))
      (setf (eca-context-job--chain-stalled chain) "busy")
      (eca-context-job--later chain 0.2 #'eca-context-job--compute chain nil))
     ((not (eq (car said) :async))
      (eca-context-job--answer chain turn (car said))))))

;;;; One call

(defun eca-context-job--share (chain)
  "Return how many seconds the function that CHAIN asks now may take."
  (* (max 0 (eca-context-job--left chain))
     (if (eca-context-job--chain-functions chain) 0.5 0.95)))

(defun eca-context-job--failure (function status reason)
  "Return the outcome of FUNCTION (or nil) with STATUS and REASON."
  (list :provider (if (and function (symbolp function)) (symbol-name function) "")
        :kind "unknown" :status status :reason reason))

(defun eca-context-job--silence (chain)
  "Return the outcome of the function that CHAIN asks, given no answer in time."
  (if (equal (eca-context-job--chain-stalled chain) "busy")
      (eca-context-job--failure (eca-context-job--chain-asked chain) "busy"
                                "the user was at work all the time")
    (eca-context-job--failure (eca-context-job--chain-asked chain) "timeout"
                              "it did not answer in time")))

(defun eca-context-job--call (chain)
  "Call the function that CHAIN asks now and return its answer.
It can neither ask the user nor write to the echo area nor leave windows, match
data, point or narrowing other than they were; one that waits is cut short."
  (let* ((function (eca-context-job--chain-asked chain))
         (point (eca-context-job--chain-point chain))
         (windows (current-window-configuration))
         (inhibit-message t)
         (message-log-max nil)
         (inhibit-interaction t)
         (non-essential t)
         (said
          (with-local-quit
            (list
             (with-timeout ((eca-context-job--share chain) (eca-context-job--silence chain))
               (condition-case err
                   (save-match-data
                     (with-current-buffer (eca-context-job--chain-buffer chain)
                       (save-excursion
                         (save-restriction
                           (widen)
                           (when point (goto-char point))
                           (let ((deactivate-mark nil))
                             (funcall function
                                      (append (list :deadline
                                                    (+ (float-time)
                                                       (* 0.9 (eca-context-job--share chain))))
                                              (eca-context-job--chain-request chain))
                                      (eca-context-job--callback chain)))))))
                 (inhibited-interaction
                  (eca-context-job--failure function "would-prompt" "it wanted to ask the user"))
                 (error (eca-context-job--failure function "error"
                                                  (error-message-string err)))))))))
    (unless (with-suppressed-warnings ((obsolete compare-window-configurations))
              (compare-window-configurations windows (current-window-configuration)))
      (set-window-configuration windows))
    (if said
        (car said)
      (eca-context-job--failure function "busy" "the user interrupted it"))))

;;;; Waiting for others

(defconst eca-context-job--interval 0.02
  "How often what is waited for is looked at, in seconds.")

(defun eca-context-job-await (deadline step done)
  "Call STEP now and then, up to a non-nil value, then DONE with that value.
DEADLINE is a `float-time'; with it, or when STEP signals an error, DONE is
called with nil.  STEP is called in the present buffer; if that is killed, DONE
is called with nil, too.  Return `:async'."
  (let ((buffer (current-buffer))
        (timer nil))
    (setq timer
          (run-at-time
           0 eca-context-job--interval
           (lambda ()
             (let* ((inhibit-message t)
                    (message-log-max nil)
                    (value (condition-case nil
                               (save-match-data
                                 (and (buffer-live-p buffer)
                                      (with-current-buffer buffer
                                        (save-excursion
                                          (save-restriction (widen) (funcall step))))))
                             (error (setq deadline 0) nil))))
               (when (or value (not (buffer-live-p buffer)) (> (float-time) deadline))
                 (cancel-timer timer)
                 (save-match-data (funcall done value)))))))
    :async))

(provide 'eca-context-job)
;;; eca-context-job.el ends here
