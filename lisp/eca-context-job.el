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
(require 'eca-context-hosts)

(defvar warning-minimum-level)
(defvar warning-minimum-log-level)

(cl-defstruct (eca-context-job--chain (:copier nil) (:constructor eca-context-job-chain))
  "The functions of one hook, asked in BUFFER at POINT (or nil) with REQUEST.
KEY says in the result what the outcomes are about."
  key functions buffer point request
  ;; Private from here: the job, the newest outcome first, the function that is being asked, its turn
  ;; (an answer of an earlier turn is late), its timer, and "busy" if the user interrupted it last.
  job outcomes asked (turn 0) timer stalled)

(cl-defstruct (eca-context-job (:copier nil))
  "ALL the chains, those not over, those that wait to compute, and the end."
  all chains waiting deadline timer done)

(defun eca-context-job-run (chains deadline done)
  "Ask the functions of CHAINS and call DONE once, at DEADLINE or before.
DEADLINE is a `float-time'.  DONE gets the chains' outcomes as a plist of
their keys; chains of one key are joined, in the order given.  Nothing is asked
before this has returned.

A function is called with (REQUEST CALLBACK) in the chain's buffer, widened, at
its point.  It returns an outcome, a list of outcomes, nil for \"not mine\", or
`:async', and then calls CALLBACK once with any of these.  One whose symbol has
the property `eca-context-computes' is asked last.  One that computes or waits
is asked again when the user's typing has interrupted it.  REQUEST says by
`:deadline' when to answer at last; that is before the job's own, so that what
is known then is not lost."
  (let ((job (make-eca-context-job :chains chains :all chains :deadline deadline :done done)))
    (dolist (chain chains)
      (setf (eca-context-job--chain-job chain) job)
      (eca-context-job--later chain 0 #'eca-context-job--step chain))
    (setf (eca-context-job-timer job)
          (run-at-time (max 0 (- deadline (float-time))) nil #'eca-context-job--time-is-up job))
    (unless chains
      (eca-context-job-soon #'eca-context-job--finish job))))

(defun eca-context-job-functions (hook buffer)
  "Return the functions of HOOK in BUFFER, those of its global value in place of t."
  (seq-mapcat (lambda (function)
                (if (eq function t)
                    (eca-context-job--functions (default-value hook))
                  (list function)))
              (eca-context-job--functions (buffer-local-value hook buffer))))

(defun eca-context-job--functions (value)
  "Return VALUE of a hook, a function or a list of them, as a list."
  (if (functionp value) (list value) value))

(defun eca-context-job--left (chain)
  "Return how many seconds CHAIN has left."
  (- (eca-context-job-deadline (eca-context-job--chain-job chain)) (float-time)))

(defun eca-context-job--open-p (chain)
  "Return non-nil if CHAIN is not over."
  (memq chain (eca-context-job-chains (eca-context-job--chain-job chain))))

;;;; Turns

(defvar eca-context-job--queue nil
  "Turns to be taken, (CHAIN FUNCTION . ARGUMENTS); CHAIN is nil for no job's turn.")

(defvar eca-context-job--pump nil
  "The timer that takes what is next in `eca-context-job--queue', or nil.")

(defconst eca-context-job--slice 0.005
  "For how many seconds turns are taken one after another, unless the user types.")

(defun eca-context-job-soon (function &rest arguments)
  "Call FUNCTION with ARGUMENTS in a timer, when Emacs has served the user.
However many ask for it, the user's input comes between two of them."
  (eca-context-job--enqueue (cons nil (cons function arguments))))

(defun eca-context-job--enqueue (turn &optional is-next)
  "Have TURN taken after those that wait already, and return it.
If IS-NEXT, it is taken before them."
  (setq eca-context-job--queue (if is-next
                                   (cons turn eca-context-job--queue)
                                 (nconc eca-context-job--queue (list turn))))
  (eca-context-job--arm)
  turn)

(defun eca-context-job--arm ()
  "Have what waits in the queue called."
  (when (and eca-context-job--queue (not (memq eca-context-job--pump timer-list)))
    (setq eca-context-job--pump (run-at-time 0 nil #'eca-context-job--take-turns))))

(defun eca-context-job--take-turns ()
  "Call what is next in the queue, for a short while."
  (setq eca-context-job--pump nil)
  (let ((until (+ (float-time) eca-context-job--slice)))
    (while (let ((turn (pop eca-context-job--queue)))
             ;; Before the call: it may wait or throw, and the others need not wait with it.
             (eca-context-job--arm)
             (when (and turn
                        (or (null (car turn))
                            (eq turn (eca-context-job--chain-timer (car turn)))))
               (when (car turn)
                 (setf (eca-context-job--chain-timer (car turn)) nil))
               (eca-context-hosts-left-alone
                 (apply (cadr turn) (cddr turn))))
             (and eca-context-job--queue
                  (< (float-time) until)
                  (not (input-pending-p)))))))

(defun eca-context-job--forget (job)
  "Take what waits for JOB out of the queue."
  (setq eca-context-job--queue
        (seq-remove (lambda (turn) (and (car turn) (eq (eca-context-job--chain-job (car turn)) job)))
                    eca-context-job--queue))
  (when (and eca-context-job--pump (null eca-context-job--queue))
    (cancel-timer eca-context-job--pump)
    (setq eca-context-job--pump nil)))

(defun eca-context-job--later (chain seconds function &rest arguments)
  "Call FUNCTION with ARGUMENTS in SECONDS, unless CHAIN is done by then.
SECONDS nil is now, before what waits to be called already.  FUNCTION nil only
takes back what was to be called."
  (let ((timer (eca-context-job--chain-timer chain)))
    (when (timerp timer)
      (cancel-timer timer))
    (setf (eca-context-job--chain-timer chain)
          (cond ((null function) nil)
                ((and seconds (> seconds 0))
                 (apply #'run-at-time seconds nil function arguments))
                (t (eca-context-job--enqueue (cons chain (cons function arguments))
                                             (null seconds)))))))

;;;; Walking

(defun eca-context-job--step (chain)
  "Ask the next function of CHAIN."
  (let ((function (pop (eca-context-job--chain-functions chain))))
    (setf (eca-context-job--chain-asked chain) function
          (eca-context-job--chain-stalled chain) nil)
    (cond
     ((null function) (eca-context-job--close chain))
     ((not (buffer-live-p (eca-context-job--chain-buffer chain)))
      (eca-context-job--take chain (eca-context-job--failure nil "error" "the buffer was killed"))
      (eca-context-job--close chain))
     ((eca-context-job--computes-p function)
      (let ((job (eca-context-job--chain-job chain)))
        (setf (eca-context-job-waiting job) (append (eca-context-job-waiting job) (list chain)))
        ;; Half way to the deadline it waits for the others no more.
        (eca-context-job--later chain (/ (eca-context-job--left chain) 2)
                                #'eca-context-job--compute chain t)
        (eca-context-job--let-compute job)))
     (t (eca-context-job--ask chain)))))

(defun eca-context-job--computes-p (function)
  "Return non-nil if FUNCTION is known to compute for long."
  (and (symbolp function) (get function 'eca-context-computes)))

(defun eca-context-job--ask (chain)
  "Call the function that CHAIN has come to and take its answer."
  (let ((turn (eca-context-job--chain-turn chain))
        (said 'lost))
    (eca-context-job--later chain 0 nil)
    ;; A throw past this frame, by the time limit of one that waits around us, must not lose the turn.
    (unwind-protect
        (setq said (eca-context-job--call chain))
      (when (eq said 'lost)
        (if (input-pending-p)
            (eca-context-job--said chain turn 'interrupted)
          (eca-context-job--later chain 0 #'eca-context-job--answer chain turn
                                  (eca-context-job--silence chain)))))
    (eca-context-job--said chain turn said)))

(defun eca-context-job--said (chain turn said)
  "Take what CHAIN's function of TURN returned.
SAID is `:async' for later, `interrupted' if it waited and the user typed."
  (cond
   ((eq said 'interrupted)
    (setf (eca-context-job--chain-stalled chain) "busy")
    (eca-context-job--later chain 0.2 #'eca-context-job--compute chain nil))
   ((not (eq said :async)) (eca-context-job--answer chain turn said))
   ((= turn (eca-context-job--chain-turn chain))
    (eca-context-job--later chain (eca-context-job--share chain) #'eca-context-job--answer
                            chain turn (eca-context-job--silence chain)))))

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
      ;; One that had nothing to do with it took no time.
      (eca-context-job--later chain (and said 0) #'eca-context-job--step chain))))

(defun eca-context-job--ends-p (outcome)
  "Return non-nil if no other function need be asked after OUTCOME."
  (and (equal (plist-get outcome :kind) "semantic")
       (member (plist-get outcome :status) '(nil "ok"))
       (eca-context-job-found-p outcome)))

(defun eca-context-job-found-p (outcome)
  "Return non-nil if there is any item in OUTCOME, as such or in a raw result."
  (or (> (length (plist-get outcome :items)) 0)
      (eca-context-job-full-p (plist-get outcome :raw))
      (not (member (plist-get outcome :rawJson) '(nil "null" "[]" "{}")))))

(defun eca-context-job-full-p (raw)
  "Return non-nil if there is anything in RAW, what a language server answered."
  (and raw (not (equal raw [])) (not (eq raw :json-false))
       (not (and (hash-table-p raw) (zerop (hash-table-count raw))))))

(defun eca-context-job--take (chain said)
  "Add what was SAID, an outcome, a list of them, or nil, to CHAIN."
  (dolist (outcome (cond ((keywordp (car-safe said)) (list said))
                         ((proper-list-p said) said)
                         (t (list 'none))))
    (push (if (eca-context-job--outcome-p outcome)
              outcome
            (eca-context-job--failure (eca-context-job--chain-asked chain) "error"
                                      "what it answered is no outcome"))
          (eca-context-job--chain-outcomes chain))))

(defun eca-context-job--outcome-p (value)
  "Return non-nil if VALUE has the shape of an outcome, whatever its items are."
  (and (keywordp (car-safe value))
       (cl-evenp (or (proper-list-p value) 1))
       (seq-every-p (lambda (key)
                      (let ((said (plist-get value key)))
                        (or (null said) (stringp said))))
                    '(:provider :kind :status :reason :rawJson :encoding :role))
       (let ((items (plist-get value :items)))
         (or (vectorp items) (proper-list-p items)))))

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
      (when (eca-context-job-timer job)
        (cancel-timer (eca-context-job-timer job)))
      (eca-context-job--forget job)
      (dolist (chain (eca-context-job-all job))
        (let ((key (eca-context-job--chain-key chain)))
          (setq result (plist-put result key
                                  (append (plist-get result key)
                                          (reverse (eca-context-job--chain-outcomes chain)))))))
      (save-match-data
        (eca-context-hosts-left-alone
          (funcall done result))))))

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
  "Call the function that CHAIN has come to; the user's input wins.
Unless IS-FIRST, only when the user has done nothing for half a second."
  (let* ((turn (eca-context-job--chain-turn chain))
         (idle (current-idle-time))
         (said (and (or is-first noninteractive (and idle (> (float-time idle) 0.5)))
                    (progn
                      ;; It is its own fault from now on, unless the user comes back.
                      (setf (eca-context-job--chain-stalled chain) nil)
                      ;; Where one waits, a throw by `while-no-input' costs the user's keys.
                      (if (eca-context-job--computes-p (eca-context-job--chain-asked chain))
                          (while-no-input (list (eca-context-job--call chain)))
                        (list (eca-context-job--call chain)))))))
    (cond
     ((not (eca-context-job--open-p chain)))
     ((not (consp said))
      (setf (eca-context-job--chain-stalled chain) "busy")
      (eca-context-job--later chain 0.2 #'eca-context-job--compute chain nil))
     (t
      (let ((job (eca-context-job--chain-job chain)))
        (setf (eca-context-job-waiting job) (remq chain (eca-context-job-waiting job))))
      (eca-context-job--said chain turn (car said))))))

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
If it waits and the user types, that is `interrupted'.  It can neither ask the
user nor write to the echo area nor leave windows, match data, point or
narrowing other than they were; one that waits is cut short, one that asks
another host fails.  It cannot end what the user is doing, either, nor open the
debugger: only the user's own \\[keyboard-quit] goes on to there."
  (let* ((function (eca-context-job--chain-asked chain))
         (windows (current-window-configuration))
         (inhibit-message t)
         (message-log-max nil)
         (warning-minimum-level :emergency)
         (warning-minimum-log-level :emergency)
         (inhibit-interaction t)
         (non-essential t)
         (debug-on-error nil)
         (debug-on-signal nil)
         (quits nil)
         (signal-hook-function
          (lambda (symbol _)
            (when (eq symbol 'quit)
              (setq quits (eca-context-job--called-p '(signal keyboard-quit))))))
         (said
          (catch 'exit
            (catch 'top-level
              (with-local-quit
                (condition-case err
                    (or (eca-context-hosts-left-alone
                          (eca-context-job--yielding
                           #'eca-context-job-within (eca-context-job--share chain)
                           #'eca-context-job--call-there chain))
                        (list (eca-context-job--silence chain)))
                  (inhibited-interaction
                   (list (eca-context-job--failure function "would-prompt"
                                                   "it wanted to ask the user")))
                  (error
                   (list (eca-context-job--failure function "error" (error-message-string err))))
                  ;; The user's own is not ours to handle.
                  (quit
                   (if quits
                       (list (eca-context-job--failure function "error" "it quit"))
                     (signal 'quit nil)))))))))
    (unless (with-suppressed-warnings ((obsolete compare-window-configurations))
              (compare-window-configurations windows (current-window-configuration)))
      (set-window-configuration windows))
    (cond ((consp said) (car said))
          (quit-flag (eca-context-job--failure function "busy" "the user interrupted it"))
          (t (eca-context-job--failure function "error" "it wanted to leave the command loop")))))

(defun eca-context-job--called-p (functions)
  "Return non-nil if one of FUNCTIONS is being called."
  (let (found)
    (mapbacktrace (lambda (_evald function _arguments _flags)
                    (when (memq function functions)
                      (setq found t))))
    found))

(defun eca-context-job--call-there (chain)
  "Call the function that CHAIN asks now at its place and return its answer."
  (let ((point (eca-context-job--chain-point chain))
        (share (eca-context-job--share chain)))
    (save-match-data
      (with-current-buffer (eca-context-job--chain-buffer chain)
        (save-excursion
          (save-restriction
            (widen)
            (when point (goto-char point))
            (let ((deactivate-mark nil))
              (funcall (eca-context-job--chain-asked chain)
                       (append (list :deadline (+ (float-time) (* 0.9 share)))
                               (eca-context-job--chain-request chain))
                       (eca-context-job--callback chain)))))))))

;;;; Waiting for others

;; `while-no-input' throws from within the wait, and then Emacs loses the keys that were typed.
(defun eca-context-job--yielding (function &rest arguments)
  "Call FUNCTION with ARGUMENTS and return its value.
Return a list of `interrupted' if it waits when there is input."
  (if noninteractive
      (apply function arguments)
    (let* ((tag (make-symbol "input"))
           (timer (run-at-time 0.03 0.03 (lambda ()
                                           (when (input-pending-p)
                                             (throw tag (list 'interrupted)))))))
      (unwind-protect
          (catch tag (apply function arguments))
        (cancel-timer timer)))))

;; All calls of one `with-timeout' share a tag: one's time limit would end another that waits inside it,
;; and then the first would have none.
(defun eca-context-job-within (seconds function &rest arguments)
  "Call FUNCTION with ARGUMENTS and return a list of its value.
Return nil if it waits when SECONDS are over."
  (let* ((tag (make-symbol "too-late"))
         (timer (run-at-time seconds nil (lambda () (throw tag nil)))))
    (unwind-protect
        (catch tag
          (list (apply function arguments)))
      (cancel-timer timer))))

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
             (eca-context-hosts-left-alone
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
                   (save-match-data (funcall done value))))))))
    :async))

(provide 'eca-context-job)
;;; eca-context-job.el ends here
