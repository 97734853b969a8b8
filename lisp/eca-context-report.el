;;; eca-context-report.el --- Show a person what an agent would get  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; M-x eca-context-at-point asks everything for point and shows the answer as a buffer one can walk;
;; M-x eca-context-doctor shows versions and what each provider would say.  Both go the way a server's
;; request goes and need no server.

;;; Code:

(require 'button)
(require 'cl-lib)
(require 'seq)
(require 'subr-x)
(require 'url-util)
(require 'eca-context)
(require 'eca-context-collect)
(require 'eca-context-eca)
(require 'eca-context-headless)
(require 'eca-context-job)
(require 'eca-context-mcp-config)
(require 'eca-context-module)
(require 'eca-context-position)
(require 'eca-context-serve)

(declare-function eca-context-module-answer "ext:eca-context-module"
                  (id method params options facts) t)
(declare-function eca-context-module-version "ext:eca-context-module" () t)

(defconst eca-context-report--features (mapcar #'car eca-context-collect-features)
  "What can be asked, in the order of the sections.")

(defvar-local eca-context-report--source nil
  "The buffer that is asked about.")
(defvar-local eca-context-report--wanted nil
  "The features that are asked for, strings.")
(defvar-local eca-context-report--round nil
  "What marks the newest round of questions; answers of older ones are dropped.")
(defvar-local eca-context-report--json nil
  "The answers' JSON texts as they would be sent.")

;;;; Commands

(defvar eca-context-report-mode-map
  (let ((map (make-sparse-keymap)))
    (set-keymap-parent map (make-composed-keymap button-buffer-map special-mode-map))
    (define-key map "j" #'eca-context-report-show-json)
    (define-key map "w" #'eca-context-report-copy-json)
    map)
  "Keys of `eca-context-report-mode'.")

(define-derived-mode eca-context-report-mode special-mode "Context"
  "Mode of the buffer that `eca-context-at-point' shows.
\\<eca-context-report-mode-map>\\[revert-buffer] asks again, \
\\[eca-context-report-show-json] shows the JSON, \\[eca-context-report-copy-json] \
copies it, \\[quit-window] leaves."
  (setq-local revert-buffer-function #'eca-context-report--again))

;;;###autoload
(defun eca-context-at-point (&optional features)
  "Show what an agent would be told about point in the current buffer.
FEATURES is a list of names, nil for all; with a prefix argument they are read.
The answer arrives later; this only starts the questions."
  (interactive
   (list (and current-prefix-arg
              (completing-read-multiple "Features: " eca-context-report--features nil t))))
  (unless (buffer-file-name (eca-context-report--base (current-buffer)))
    (user-error "This buffer visits no file; agents ask about files"))
  (when-let ((trouble (eca-context-module-trouble)))
    (user-error "The module is not usable: %s" trouble))
  (let ((source (current-buffer)))
    (with-current-buffer (get-buffer-create "*eca-context*")
      (eca-context-report-mode)
      (setq eca-context-report--source source
            eca-context-report--wanted (or features eca-context-report--features))
      (eca-context-report--again)
      (display-buffer (current-buffer)))))

(defun eca-context-report--again (&rest _)
  "Ask again what the current report is about."
  (unless (buffer-live-p eca-context-report--source)
    (user-error "The buffer that was asked about is gone"))
  (let ((round (list nil))
        (report (current-buffer)))
    (setq eca-context-report--round round)
    (let ((inhibit-read-only t))
      (erase-buffer)
      (insert "Asking…\n"))
    (eca-context-report--ask
     eca-context-report--source eca-context-report--wanted
     (lambda (answers)
       (when (and (buffer-live-p report)
                  (eq round (buffer-local-value 'eca-context-report--round report)))
         (with-current-buffer report
           (eca-context-report--show answers)))))))

(defun eca-context-report-show-json ()
  "Show the JSON of this report's answers as it would be sent."
  (interactive nil eca-context-report-mode)
  (let ((json (eca-context-report--json-text)))
    (with-current-buffer (get-buffer-create "*eca-context-json*")
      (let ((inhibit-read-only t))
        (erase-buffer)
        (insert json "\n"))
      (special-mode)
      (goto-char (point-min))
      (display-buffer (current-buffer)))))

(defun eca-context-report-copy-json ()
  "Copy the JSON of this report's answers as it would be sent."
  (interactive nil eca-context-report-mode)
  (kill-new (eca-context-report--json-text))
  (message "Copied the JSON of %d answers" (length eca-context-report--json)))

(defun eca-context-report--json-text ()
  "Return the JSON of this report's answers, each on a line."
  (unless eca-context-report--json
    (user-error "There is no answer yet"))
  (mapconcat #'identity eca-context-report--json "\n"))

;;;; Asking

(defun eca-context-report--base (buffer)
  "Return the buffer that visits the file of BUFFER, which may be indirect."
  (or (buffer-base-buffer buffer) buffer))

(defun eca-context-report--ask (source features done)
  "Ask about point of the buffer SOURCE for FEATURES and call DONE once.
DONE gets a list of plists: `:method', `:json' (the answer's text), `:result' or
`:error' (parsed), and `:times', conses of a feature and its milliseconds.
Each feature is gathered by itself, so each has its own time."
  (with-current-buffer source
    (let* ((at (car (eca-context-position-sweep (list (point)))))
           (base (list :uri (eca-context-report--uri
                             (buffer-file-name (eca-context-report--base source)))
                       :position (list :line (car at) :character (cdr at))))
           (context-features (remove "diagnostics" features))
           (diagnose
            (lambda (answers)
              (if (not (member "diagnostics" features))
                  (funcall done answers)
                (eca-context-report--gather
                 "editor/getDiagnostics" base '("diagnostics")
                 (lambda (answer) (funcall done (append answers (list answer)))))))))
      (if context-features
          (eca-context-report--gather
           "editor/getContext" base context-features
           (lambda (answer) (funcall diagnose (list answer))))
        (funcall diagnose nil)))))

(defun eca-context-report--gather (method base features done)
  "Ask METHOD with the params BASE for FEATURES and call DONE with the answer."
  (let* ((params (if (equal method "editor/getContext")
                     (append base (list :include (vconcat features)))
                   base))
         (facts nil)
         (times nil)
         (step nil))
    (setq step
          (lambda (rest)
            (if (null rest)
                (funcall done (eca-context-report--answer method params facts (nreverse times)))
              (let ((start (float-time)))
                (eca-context-collect
                 method
                 (if (equal method "editor/getContext")
                     (append base (list :include (vector (car rest))))
                   base)
                 (list :roots nil :deadline (+ start eca-context-time-limit))
                 (lambda (more)
                   (push (cons (car rest) (* 1000 (- (float-time) start))) times)
                   ;; The first says what the file and the position are; all say the same.
                   (cl-loop for (key value) on more by #'cddr
                            unless (plist-member facts key)
                            do (setq facts (append facts (list key value))))
                   (funcall step (cdr rest))))))))
    (funcall step features)))

(defun eca-context-report--answer (method params facts times)
  "Return the answer to METHOD with PARAMS that follows from FACTS, a plist.
TIMES is kept in it."
  (let* ((frame (eca-context-module-answer 0 method params (eca-context-options) facts))
         (json (decode-coding-string
                (substring frame (+ 4 (string-match "\r\n\r\n" frame))) 'utf-8))
         (parsed (json-parse-string json :object-type 'plist :array-type 'list
                                    :null-object nil :false-object nil)))
    (list :method method :json json :times times
          :result (plist-get parsed :result) :error (plist-get parsed :error)
          :providers (delete-dups
                      (mapcar (lambda (outcome) (plist-get outcome :provider))
                              (plist-get facts :diagnostics))))))

(defun eca-context-report--uri (path)
  "Return the URI of PATH, an absolute file name."
  (concat "file://" (if (string-prefix-p "/" path) "" "/")
          (url-hexify-string path (cons ?/ url-unreserved-chars))))

;;;; Showing

(defun eca-context-report--show (answers)
  "Fill the current report with ANSWERS."
  (setq eca-context-report--json (mapcar (lambda (answer) (plist-get answer :json)) answers))
  (let ((inhibit-read-only t))
    (erase-buffer)
    (eca-context-report--insert-head (plist-get (car answers) :result))
    (dolist (answer answers)
      (if (plist-get answer :error)
          (insert "\n" (plist-get answer :method) ": "
                  (or (plist-get (plist-get answer :error) :message) "") "\n")
        (dolist (time (plist-get answer :times))
          (eca-context-report--insert-section (car time) (cdr time) answer))))
    (goto-char (point-min))))

(defun eca-context-report--insert-head (result)
  "Insert what RESULT is about."
  (let* ((document (plist-get result :document))
         (position (plist-get result :position))
         (source (buffer-file-name (eca-context-report--base eca-context-report--source))))
    (insert (propertize (abbreviate-file-name (or source "")) 'face 'bold))
    (when position
      (insert (format ", line %d, character %d (from 0)"
                      (plist-get position :line) (plist-get position :character))))
    (insert "\n")
    (when document
      (insert (string-join
               (delq nil
                     (list (plist-get document :languageId)
                           (and (plist-get document :lineCount)
                                (format "%d lines" (plist-get document :lineCount)))
                           (and (plist-get document :modified) "unsaved changes")
                           (and (plist-get document :diskNewer) "changed on disk")))
               ", ")
              "\n"))))

(defun eca-context-report--insert-section (feature milliseconds answer)
  "Insert the section of FEATURE of ANSWER, which took MILLISECONDS."
  (let* ((result (plist-get answer :result))
         (key (intern (concat ":" feature)))
         (provenance (plist-get (plist-get result :provenance) key))
         (providers (if (equal feature "diagnostics")
                        (plist-get answer :providers)
                      (plist-get provenance :providers)))
         (truncated (plist-get (plist-get result :truncated) key))
         (unavailable (seq-filter
                       (lambda (entry) (equal (plist-get entry :capability) feature))
                       (plist-get result :unavailable)))
         (value (plist-get result key)))
    (insert "\n" (propertize feature 'face 'bold) "  "
            (string-join
             (delq nil
                   (list (and providers (string-join providers ", "))
                         (plist-get provenance :kind)
                         (format "%.1f ms" milliseconds)
                         (and truncated (format "%d of %d" (plist-get truncated :returned)
                                                (plist-get truncated :total)))
                         (and (equal feature "diagnostics")
                              (cond ((plist-get result :fresh) "fresh")
                                    ((plist-member result :fresh) "not fresh")))))
             " · ")
            "\n")
    (dolist (entry unavailable)
      (insert (format "  not available (%s): %s%s\n" (plist-get entry :code)
                      (plist-get entry :reason)
                      (if (plist-get entry :retry) "; asking again may help" ""))))
    (cond
     (value
      (pcase feature
        ("symbolAtPosition" (eca-context-report--insert-place
                             (plist-get result :uri) (plist-get value :range) 1
                             (plist-get value :text) (plist-get value :context)))
        ((or "documentSymbols" "enclosingSymbols")
         (eca-context-report--insert-symbols (plist-get result :uri) value 1))
        ((or "definitions" "references")
         (dolist (item value)
           (eca-context-report--insert-place
            (plist-get item :uri) (plist-get item :range) 1 (eca-context-report--label item)
            (if (plist-get item :declaration) "declaration" (plist-get item :role))
            (plist-get item :container) (plist-get item :preview))))
        ("documentation"
         (dolist (item value)
           (insert "  " (plist-get item :role) "\n"
                   (replace-regexp-in-string "^" "    " (plist-get item :value)) "\n")))
        ("workspace" (eca-context-report--insert-workspace value))
        ("diagnostics" (dolist (item value)
                         (eca-context-report--insert-place
                          (plist-get item :uri) (plist-get item :range) 1
                          (eca-context-report--label item)
                          (plist-get item :severity) (plist-get item :source)
                          (plist-get item :message))))))
     ((null unavailable) (insert "  nothing\n")))))

(defun eca-context-report--insert-workspace (workspace)
  "Insert WORKSPACE, what the user has open."
  (dolist (root (plist-get workspace :roots))
    (insert "  root  " (plist-get root :name) "\n"))
  (dolist (file (plist-get workspace :openFiles))
    (let ((uri (plist-get file :uri)))
      (eca-context-report--insert-place
       uri '(:start (:line 0 :character 0)) 1
       (file-name-nondirectory (or (eca-context-uri-to-path uri) uri))
       (and (equal uri (plist-get workspace :currentFile)) "current")
       (and (plist-get file :visible) "visible")
       (and (plist-get file :modified) "unsaved"))))
  (when-let ((selection (plist-get workspace :selection)))
    (eca-context-report--insert-place
     (plist-get selection :uri) (plist-get selection :range) 1
     (concat "selection " (eca-context-report--label selection)) (plist-get selection :text))))

(defun eca-context-report--label (item)
  "Return a short name of where ITEM is, lines and characters from 0."
  (let ((start (plist-get (plist-get item :range) :start)))
    (format "%s:%d:%d"
            (file-name-nondirectory
             (or (eca-context-uri-to-path (plist-get item :uri)) (plist-get item :uri)))
            (or (plist-get start :line) 0) (or (plist-get start :character) 0))))

(defun eca-context-report--insert-symbols (uri symbols depth)
  "Insert SYMBOLS of the file URI and their children, indented by DEPTH."
  (dolist (symbol symbols)
    (eca-context-report--insert-place
     uri (or (plist-get symbol :selectionRange) (plist-get symbol :range)) depth
     (plist-get symbol :name) (plist-get symbol :kind) (plist-get symbol :detail))
    (eca-context-report--insert-symbols uri (plist-get symbol :children) (1+ depth))))

(defun eca-context-report--insert-place (uri range depth label &rest notes)
  "Insert LABEL as a button that leads to RANGE of URI, and NOTES after it.
It stands DEPTH steps to the right; without RANGE it is no button."
  (insert (make-string (* 2 depth) ?\s))
  (let ((start (plist-get range :start))
        (path (and uri (eca-context-uri-to-path uri))))
    (if (and start path)
        (insert-text-button label
                            'action #'eca-context-report--visit
                            'follow-link t
                            'help-echo "Visit this place"
                            'eca-context-place (list path (plist-get start :line)
                                                     (plist-get start :character)))
      (insert label)))
  (dolist (note (delq nil notes))
    (insert "  " (replace-regexp-in-string "\n" " " note)))
  (insert "\n"))

(defun eca-context-report--visit (button)
  "Visit the place that BUTTON stands for."
  (pcase-let ((`(,path ,line ,character) (button-get button 'eca-context-place)))
    (find-file-other-window path)
    (let ((place (eca-context-position-to-point line character)))
      (unless place
        (user-error "The file has no line %d any more" line))
      (unless (<= (point-min) place (point-max))
        (widen))
      (push-mark nil t)
      (goto-char place))))

;;;; The doctor

;;;###autoload
(defun eca-context-doctor ()
  "Show versions, and what each provider would say at point, or why not.
Providers that answer later are added when they do."
  (interactive)
  (let ((source (current-buffer)))
    (with-current-buffer (get-buffer-create "*eca-context-doctor*")
      (special-mode)
      (let ((inhibit-read-only t))
        (erase-buffer)
        (eca-context-report--insert-versions)
        (insert (format "\nBuffer %s, %s\n" (buffer-name source)
                        (buffer-local-value 'major-mode source)))
        (if (buffer-file-name (eca-context-report--base source))
            (pcase-dolist (`(,feature ,_ ,hook) eca-context-collect-features)
              (insert "\n" (propertize feature 'face 'bold)
                      (if (member feature eca-context-disabled-features)
                          "  switched off in `eca-context-disabled-features'" "")
                      "\n")
              (dolist (function (eca-context-job-functions
                                 hook (eca-context-report--base source)))
                (eca-context-report--examine source feature function)))
          (insert "It visits no file, so no agent can ask about it.\n"))
        (goto-char (point-min)))
      (display-buffer (current-buffer)))))

(defun eca-context-report--insert-versions ()
  "Insert the versions of what takes part."
  (let ((trouble (eca-context-module-trouble)))
    (insert (format "Emacs         %s, %s\n" emacs-version system-configuration)
            (format "eca-context   %s, mode %s\n" eca-context-module-wanted-version
                    (if eca-context-mode "on" "off"))
            (format "module        %s\n"
                    (or trouble (format "version %s, loaded" (eca-context-module-version))))
            (format "module file   %s%s\n" (abbreviate-file-name (eca-context-module-file))
                    (if (file-exists-p (eca-context-module-file)) "" " (missing)"))
            (format "eca-emacs     %s\n" (eca-context-eca-state))
            (format "socket        %s\n" (eca-context-serve-state))
            (format "program       %s\n"
                    (let ((program (eca-context-mcp-config-file)))
                      (if program
                          (abbreviate-file-name program)
                        "not built; `make build-cli' builds it, agents that speak MCP start it"))))
    (dolist (server (eca-context-headless-servers))
      (insert (format "server        %s, %s, pid %d, %d questions, %d of them not answered in time, %s\n"
                      (plist-get server :name) (plist-get server :state) (plist-get server :pid)
                      (plist-get server :nAsked) (plist-get server :nTimeouts)
                      (abbreviate-file-name (plist-get server :root))))
      (dolist (words (last (plist-get server :lastWords) 3))
        (insert "              " words "\n")))))

(defun eca-context-report--examine (source feature function)
  "Insert the verdict of FUNCTION on FEATURE at point of the buffer SOURCE."
  (let* ((report (current-buffer))
         (place (progn (insert (format "  %s: " function)) (point-marker)))
         (start (float-time))
         (deadline (+ start eca-context-time-limit))
         (base (eca-context-report--base source))
         (path (buffer-file-name base)))
    (insert "…\n")
    (eca-context-job-run
     (list (eca-context-job-chain
            :key :said :functions (list function) :buffer base
            :point (with-current-buffer source (point))
            :request (list :path path :roots nil :deadline deadline :feature feature)))
     deadline
     (lambda (result)
       (when (buffer-live-p report)
         (with-current-buffer report
           (save-excursion
             (goto-char place)
             (let ((inhibit-read-only t))
               (delete-region place (line-end-position))
               (insert (eca-context-report--verdict
                        (plist-get result :said) function
                        (* 1000 (- (float-time) start))))))))))))

(defun eca-context-report--verdict (said function milliseconds)
  "Return in words what FUNCTION SAID, a list of outcomes.
It took MILLISECONDS."
  (concat
   (cond
    ((null said)
     (let ((need (and (symbolp function) (get function 'eca-context-needs))))
       (if need (format "not active here (`%s' is off)" need) "not active here")))
    (t
     (mapconcat
      (lambda (outcome)
        (format "%s, %s" (plist-get outcome :provider)
                (if (equal (plist-get outcome :status) "ok")
                    (format "%s, %s" (plist-get outcome :kind)
                            (let ((n-items (length (plist-get outcome :items))))
                              (if (and (= n-items 0) (eca-context-job-found-p outcome))
                                  "something found"
                                (format "%d found" n-items))))
                  (format "%s: %s" (plist-get outcome :status)
                          (or (plist-get outcome :reason) "no reason given")))))
      said
      "; ")))
   (format " (%.1f ms)" milliseconds)))

(provide 'eca-context-report)
;;; eca-context-report.el ends here
