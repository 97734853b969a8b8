;;; bench.el --- Measure the module against Lisp  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The eca-context authors
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Run by run.sh, byte-compiled, one Emacs after another.  Samples of ours and of the peer alternate, a
;; garbage collection stands before each, Emacs' own thresholds stay; the figures are medians.  A peer
;; that does not give the same bytes ends the run.

;;; Code:

(require 'cl-lib)
(require 'flymake)
(require 'imenu)
(require 'json)
(require 'seq)
(require 'thingatpt)
(require 'url-util)
(require 'xref)
(require 'peers)
(require 'eca-context)
(require 'eca-context-collect)
(require 'eca-context-diagnostics)
(require 'eca-context-eca)
(require 'eca-context-position)

;; The real client where ECA_EMACS_DIR names it, else the stand-in.
(defconst bench-real (let ((dir (getenv "ECA_EMACS_DIR")))
                       (and dir (not (string-empty-p dir)) dir))
  "The folder of the real eca-emacs, or nil.")
(if (not bench-real)
    (require 'eca-stub)
  (add-to-list 'load-path bench-real)
  (require 'eca))

(declare-function eca-create-session "ext:eca-util" (workspace-roots) t)
(declare-function eca-delete-session "ext:eca-util" (session) t)
(declare-function eca-process--make-filter "ext:eca-process" (handle-msg) t)
(declare-function eca--handle-message "ext:eca" (session json-data) t)
(declare-function eca--session-process "ext:eca-util" (session) t)
(declare-function eca-api-notify "ext:eca-api" (session &rest keys) t)

(declare-function eca-context-module-answer "ext:eca-context-module"
                  (id method params options facts) t)
(declare-function eca-context-module-plan "ext:eca-context-module" (method params options) t)

(defvar trusted-content)

(defconst bench-divisor (string-to-number (or (getenv "BENCH_DIVISOR") "1"))
  "By what the sizes are divided; more than 1 only tells that the bench runs.")

(defconst bench-folder (file-name-directory (or load-file-name buffer-file-name))
  "Where the compiled files and the module lie.")

(defvar bench-figures nil
  "What was measured, lists (NAME OURS-MS PEER-MS), the newest first.")

(defun bench-size (n)
  "Return N, or less where the bench only has to run."
  (max 2 (/ n bench-divisor)))

(defun bench-median (numbers)
  "Return the median of NUMBERS."
  (nth (/ (length numbers) 2) (sort (copy-sequence numbers) #'<)))

(defun bench-ms (function)
  "Return how many milliseconds FUNCTION takes, started after a garbage collection."
  (garbage-collect)
  (let ((start (float-time)))
    (funcall function)
    (* 1000 (- (float-time) start))))

(defun bench-note (name ours peer)
  "Note the samples OURS and PEER of NAME, lists of milliseconds; PEER may be nil."
  (push (list name (bench-median ours) (and peer (bench-median peer))) bench-figures))

(defun bench-compare (name n-samples ours peer &optional between)
  "Measure OURS and PEER as NAME, N-SAMPLES each in turn.
They must return the same; BETWEEN is called after each."
  (let ((a (funcall ours))
        (b (progn (when between (funcall between)) (funcall peer)))
        ours-ms peer-ms)
    (when between (funcall between))
    (unless (equal a b)
      (let ((at (if (and (stringp a) (stringp b))
                    (max 0 (- (abs (compare-strings a nil nil b nil nil)) 100))
                  0)))
        (error "%s: the peer gives something else, ours\n%S\npeer\n%S" name
               (if (stringp a) (substring a at (min (length a) (+ at 300))) a)
               (if (stringp b) (substring b at (min (length b) (+ at 300))) b))))
    (dotimes (_ (if (> bench-divisor 1) 1 n-samples))
      (push (bench-ms ours) ours-ms)
      (when between (funcall between))
      (push (bench-ms peer) peer-ms)
      (when between (funcall between)))
    (bench-note name ours-ms peer-ms)))

(defun bench-write (file text)
  "Write TEXT into FILE and return its URI."
  (make-directory (file-name-directory file) t)
  (let ((coding-system-for-write 'utf-8-unix))
    (write-region text nil file nil 'silent))
  (bench-uri file))

(defun bench-uri (file)
  "Return the URI of FILE."
  (concat "file://" (url-hexify-string file (cons ?/ url-unreserved-chars))))

(defun bench-document (path n-lines)
  "Return the document block of PATH, which has N-LINES."
  (list :path path :languageId "python" :lineCount n-lines :version "1" :modified nil
        :diskNewer nil))

(defun bench-block (n-lines)
  "Return the document block as it is answered for N-LINES."
  (list :languageId "python" :lineCount n-lines :version "1" :modified :json-false
        :diskNewer :json-false))

;;;; imenu-5000

(defun bench-imenu (folder)
  "Measure the symbols of a file in FOLDER: 500 classes with nine methods each."
  (let* ((path (expand-file-name "symbols.py" folder))
         (line 0)
         (pos 1)
         (index nil)
         (text (with-temp-buffer
                 (cl-flet ((add (string)
                             (prog1 (cons line pos)
                               (insert string "\n")
                               (setq line (1+ line) pos (point)))))
                   (dotimes (n (bench-size 500))
                     (let* ((name (format "Basket_%d" n))
                            (at (add (format "class %s(Base):  # é" name)))
                            (children (list (list "*class definition*" (car at) (cdr at)))))
                       (dotimes (k 9)
                         (let* ((method (format "total_%d_%d" n k))
                                (at (add (format "    def %s(self, items, tax=\"😀\"):" method))))
                           (push (list (concat method " (def)") (car at) (cdr at)) children)
                           (add "        return sum(items) * (1 + tax)")))
                       (push (cons (concat name " (class)") (cons nil (cons nil (nreverse children))))
                             index)
                       (add ""))))
                 (buffer-string)))
         (uri (bench-write path text))
         (index (nreverse index))
         (entries (mapcar (lambda (class)
                            (vector (car class) nil nil
                                    (vconcat (mapcar (lambda (child)
                                                       (vector (car child) (cadr child) 0))
                                                     (nthcdr 3 class)))))
                          index))
         (n-lines (1+ line))
         (limit 1000000)
         (options (list :limit limit :maxLimit limit)))
    (with-temp-buffer
      (insert text)
      (bench-compare
       "imenu-5000" 15
       (lambda ()
         (eca-context-module-answer
          1 "editor/getContext" (list :uri uri :include ["documentSymbols"]) options
          (list :document (bench-document path n-lines)
                :documentSymbols (list (list :provider "imenu" :kind "textual" :status "ok"
                                             :items entries)))))
       (lambda ()
         (peers-document-symbols 1 uri (bench-block n-lines) index))))))

;;;; diagnostics

(defun bench-items (path n)
  "Return N diagnostics of PATH in file order; every hundredth is there twice."
  (let ((severities ["error" "warning" "info" "hint"])
        items)
    (dotimes (idx n)
      (let* ((line (* 2 idx))
             (character (% (* 7 idx) 60)))
        (push (vector path (aref severities (% idx 4)) "Pyright"
                      (and (zerop (% idx 3)) (format "report%d" (% idx 17)))
                      (vector line character line (+ character 5))
                      (format "\"name_%d\" is not défined 😀 in this\tscope" idx))
              items)
        (when (= (% idx 100) 99)
          (push (copy-sequence (car items)) items))))
    (nreverse items)))

(defun bench-diagnostics (folder n)
  "Measure an answer with N diagnostics of a file in FOLDER, all and near."
  (let* ((path (expand-file-name "problems.py" folder))
         (n-lines (* 3 n))
         (uri (bench-write path (make-string n-lines ?\n)))
         (items (bench-items path (- (bench-size n) (/ (bench-size n) 100))))
         (line (bench-size n))
         (name (lambda (kind) (format "diagnostics-%s-%d" kind n)))
         (method "editor/getDiagnostics")
         (ours (lambda (params)
                 (let ((plan (eca-context-module-plan method params nil)))
                   (lambda ()
                     (eca-context-module-answer
                      1 method params nil
                      (append (eca-context-diagnostics-near
                               (list (list :provider "flymake" :kind "unknown" :status "ok"
                                           :fresh t :exact t :items items))
                               plan)
                              (list :document (bench-document path n-lines)))))))))
    (bench-compare
     (funcall name "all") (if (> n 1000) 11 25)
     (funcall ours (list :uri uri :limit (max 1000 n)))
     (lambda () (peers-diagnostics-all 1 uri (bench-block n-lines) items)))
    (bench-compare
     (funcall name "near") (if (> n 1000) 25 45)
     (funcall ours (list :uri uri :position (list :line line :character 30)))
     (lambda ()
       (peers-diagnostics-near 1 uri (bench-block n-lines) items line 30 20)))))

;;;; positions-1000

(defun bench-positions ()
  "Measure 1,000 positions in a megabyte of text."
  (with-temp-buffer
    (while (< (buffer-size) (/ 1000000 bench-divisor))
      (insert "    total = total + item.price  # a line of some length, and its end\n"
              (if (zerop (% (buffer-size) 3)) "    name = \"é😀\"\n" "\n")))
    (let ((seed 1)
          positions)
      (dotimes (_ (bench-size 1000))
        (setq seed (% (+ (* seed 1103515245) 12345) 2147483648))
        (push (1+ (% (/ seed 8) (buffer-size))) positions))
      (bench-compare "positions-1000" 15
                     (lambda () (eca-context-position-sweep positions))
                     (lambda () (peers-positions positions))))))

;;;; places-1000

(defun bench-places (folder)
  "Measure 1,000 places in 200 files of FOLDER."
  (let* ((n-files (bench-size 200))
         (files (mapcar (lambda (n)
                          (let ((file (expand-file-name (format "place-%d.el" n) folder)))
                            (bench-write file
                                         (mapconcat (lambda (k)
                                                      (format "(defun place-%d-%d (items)\n  \"É 😀\"\n  items)\n"
                                                              n k))
                                                    (number-sequence 0 30) "\n"))
                            file))
                        (number-sequence 0 (1- n-files))))
         (places (mapcar (lambda (idx)
                           (let ((n (% (* 7 idx) n-files))
                                 (k (% (/ idx n-files) 31)))
                             (vector (nth n files) (* 4 k) 0 nil nil (format "place-%d-%d" n k))))
                         (number-sequence 0 (1- (bench-size 1000)))))
         (path (expand-file-name "asked.py" folder))
         (uri (bench-write path "total\n"))
         (position '(:line 0 :character 2))
         (params (list :uri uri :position position :include ["definitions"] :limit 1000))
         (before (buffer-list)))
    (bench-compare
     "places-1000" 3
     (lambda ()
       (eca-context-module-answer
        1 "editor/getContext" params nil
        (list :document (bench-document path 2) :position position
              :definitions (list (list :provider "xref" :kind "semantic" :status "ok"
                                       :items places)))))
     (lambda () (peers-locations 1 uri position (bench-block 2) places 1000))
     (lambda ()
       (dolist (buffer (buffer-list))
         (unless (memq buffer before) (kill-buffer buffer)))))))

;;;; module-load

(defun bench-module-load ()
  "Measure `module-load' in fresh processes."
  (let (samples)
    (dotimes (_ (if (> bench-divisor 1) 1 15))
      (with-temp-buffer
        (call-process (expand-file-name invocation-name invocation-directory) nil t nil
                      "-Q" "--batch" "--eval"
                      (format "%S" `(let ((start (float-time)))
                                      (module-load ,(eca-context-module-file))
                                      (princ (* 1000 (- (float-time) start))))))
        (push (string-to-number (buffer-string)) samples)))
    (bench-note "module-load" samples nil)))

;;;; context-three

(defconst bench-source
  (mapconcat
   (lambda (n)
     (format "(defvar bench-source-%d nil\n  \"Say what is in basket %d.\")\n
\(defun bench-source-total-%d (items)
  \"Return the sum of ITEMS, 😀 or é.\"
  (let ((sum 0))
    (dolist (item items)
      (setq sum (+ sum (or item 0))))
    (list bench-source-%d (bench-source-total-%d (cdr items)) sum)))\n\n"
             n n n n (max 0 (1- n))))
   (number-sequence 0 26) "")
  "300 lines of Emacs Lisp, more or less.")

(defun bench-wait (process)
  "Wait for output, of PROCESS if it is not nil, or the next timer, asleep.
`accept-process-output' alone does not see a timer that a timer makes."
  (accept-process-output
   process
   (if timer-list
       (max 0 (min 1 (float-time (time-subtract (timer--time (car timer-list)) nil))))
     1)))

(defmacro bench-with-server (folder ask &rest body)
  "Evaluate BODY with ASK bound to a function that has a server ask.
It takes a method and params and returns (MS . RESULT).  The session is for
FOLDER."
  (declare (indent 2) (debug (form symbolp body)))
  `(let* ((session (eca-create-session (list ,folder)))
          (took nil)
          (process (make-process
                    :name "bench-server" :connection-type 'pipe :coding 'no-conversion
                    :noquery t
                    :command (list "python3" (expand-file-name "server.py" bench-folder))
                    :filter (eca-process--make-filter
                             (lambda (message)
                               (if (equal (plist-get message :method) "bench/took")
                                   (setq took (plist-get message :params))
                                 (eca--handle-message session message))))))
          (,ask (lambda (method params)
                  (setq took nil)
                  (garbage-collect)
                  (eca-api-notify session :method "bench/ask"
                                  :params (list :method method :params params))
                  (while (and (not took) (process-live-p process))
                    (bench-wait process))
                  (cons (plist-get took :ms) (plist-get took :result)))))
     (setf (cl-struct-slot-value 'eca--session 'process session) process)
     (unwind-protect (progn ,@body)
       (delete-process process)
       (eca-delete-session session))))

(defun bench-source (folder)
  "Visit a file of 300 lines in FOLDER, loaded, and return (BUFFER . URI)."
  (let* ((path (expand-file-name "bench-source.el" folder))
         (uri (bench-write path (concat ";;; bench-source.el  -*- lexical-binding: t; -*-\n"
                                        bench-source "(provide 'bench-source)\n")))
         (load-path (cons folder load-path)))
    (load path nil t)
    (cons (find-file-noselect path) uri)))

(defun bench-context (folder)
  "Measure one `editor/getContext' of a file in FOLDER, from write to read.
The server measures ours; the peer is what Lisp cannot avoid."
  (pcase-let ((`(,buffer . ,uri) (bench-source folder))
              (ours-ms nil) (peer-ms nil))
    (with-current-buffer buffer
      (goto-char (point-min))
      (search-forward "(bench-source-total-11 (")
      (search-backward "total-11")
      (let ((params (list :uri uri
                          :position (list :line (1- (line-number-at-pos nil t))
                                          :character (- (point) (line-beginning-position)))))
            (peer (lambda ()
                    (list (bounds-of-thing-at-point 'symbol)
                          (xref-backend-definitions
                           'elisp (xref-backend-identifier-at-point 'elisp))
                          (let ((imenu--index-alist nil))
                            (funcall imenu-create-index-function))))))
        (eca-context-eca-install)
        (unwind-protect
            (bench-with-server folder ask
              (dotimes (n (if (> bench-divisor 1) 2 31))
                ;; The index is kept as long as the text stays; measured is making it.
                (clrhash eca-context-imenu--known)
                (pcase-let ((`(,ms . ,result) (funcall ask "editor/getContext" params))
                            (bare (bench-ms peer)))
                  (dolist (key '(:symbolAtPosition :definitions :documentSymbols))
                    (unless (plist-get result key)
                      (error "context-three: %s is not answered: %S" key result)))
                  ;; The first one is to warm up.
                  (unless (zerop n)
                    (push bare peer-ms)
                    (push ms ours-ms)))))
          (eca-context-eca-uninstall)))
      (kill-buffer))
    (bench-note "context-three" ours-ms peer-ms)))

;;;; diagnostics-ready, diagnostics-after-edit

(defun bench-check ()
  "Have flymake check the current buffer and wait for its report."
  (flymake-start)
  (while (seq-difference (flymake-running-backends) (flymake-reporting-backends))
    (bench-wait nil)))

(defun bench-ready (folder)
  "Measure `editor/getDiagnostics' of a file in FOLDER, from write to read.
For a checked file the peer is the real eca-emacs, after an edit the checker."
  (pcase-let ((`(,buffer . ,uri) (bench-source folder))
              (ours-ms nil) (peer-ms nil) (edit-ms nil) (checker-ms nil)
              (n-samples (if (> bench-divisor 1) 1 15)))
    (call-process "git" nil nil nil "-C" folder "init" "-q")
    (with-current-buffer buffer
      (setq-local trusted-content :all
                  flymake-diagnostic-functions '(elisp-flymake-byte-compile))
      (flymake-mode 1)
      (bench-check)
      (bench-with-server folder ask
        (eca-context-eca-install)
        (unwind-protect
            (dotimes (_ n-samples)
              (pcase-let ((`(,ms . ,result) (funcall ask "editor/getDiagnostics" (list :uri uri))))
                (unless (plist-get result :fresh)
                  (error "diagnostics-ready: not fresh: %S" result))
                (push ms ours-ms))
              (goto-char (point-max))
              (insert "\n(defun bench-more () bench-free)\n")
              (pcase-let ((`(,ms . ,result) (funcall ask "editor/getDiagnostics" (list :uri uri))))
                (unless (and (plist-get result :fresh) (plist-get result :diagnostics))
                  (error "diagnostics-after-edit: not fresh: %S" result))
                (push ms edit-ms))
              (insert "\n")
              (push (bench-ms #'bench-check) checker-ms))
          (eca-context-eca-uninstall))
        (when bench-real
          (dotimes (_ (if (> bench-divisor 1) 1 3))
            (push (car (funcall ask "editor/getDiagnostics" (list :uri uri))) peer-ms))))
      (set-buffer-modified-p nil)
      (kill-buffer))
    (bench-note "diagnostics-ready" ours-ms peer-ms)
    (bench-note "diagnostics-after-edit" edit-ms checker-ms)))

;;;; stress

(defun bench-hold (path n)
  "Visit PATH, a file of 2 N + 1 lines, of which flymake holds N problems."
  (bench-write path (mapconcat (lambda (idx) (format "\titem%d = \"é😀\"\n" idx))
                               (number-sequence 0 (* 2 n)) ""))
  (with-current-buffer (find-file-noselect path)
    (let (found)
      (goto-char (point-min))
      (dotimes (idx n)
        (forward-line 2)
        (push (flymake-make-diagnostic (current-buffer) (1+ (point)) (+ (point) 5) :warning
                                       (format "problem %d" idx))
              found))
      (setq-local flymake-diagnostic-functions
                  (list (lambda (report &rest _) (funcall report found))))
      (flymake-mode 1)
      (bench-check)
      (current-buffer))))

(defun bench-answer (params folder n)
  "Return how many ms `editor/getDiagnostics' with PARAMS takes in FOLDER.
It must tell of N problems."
  (let* ((frame nil)
         (ms (bench-ms (lambda ()
                         (eca-context-answer 1 "editor/getDiagnostics" params
                                             (list :roots (list folder)
                                                   :deadline (+ (float-time) 20))
                                             (lambda (said) (setq frame said)))
                         (while (not frame) (bench-wait nil))))))
    (unless (string-search (format "\"total\":%d" n) frame)
      (error "stress: not %d problems: %s" n (substring frame 0 (min 500 (length frame)))))
    ms))

(defun bench-stress (folder)
  "Measure many problems in one buffer and in many buffers of files in FOLDER."
  (let* ((n-many (bench-size 10000))
         (n-files (bench-size 200))
         (n-samples (if (> bench-divisor 1) 1 5))
         (one (expand-file-name "stress.txt" folder))
         (buffer (bench-hold one n-many))
         all near)
    (dotimes (_ n-samples)
      (push (bench-answer (list :uri (bench-uri one) :limit 10000) folder n-many) all)
      (push (bench-answer (list :uri (bench-uri one) :position '(:line 500 :character 3))
                          folder n-many)
            near))
    (kill-buffer buffer)
    (bench-note "stress-all-10000" all nil)
    (bench-note "stress-near-10000" near nil)
    (let ((buffers (mapcar (lambda (idx)
                             (bench-hold (expand-file-name (format "stress/%d.txt" idx) folder) 50))
                           (number-sequence 1 n-files)))
          samples)
      (dotimes (_ n-samples)
        (push (bench-answer '(:limit 10000) folder (* 50 n-files)) samples))
      (mapc #'kill-buffer buffers)
      (bench-note "stress-200x50" samples nil))))

;;;; Running

(declare-function bench-context-all "features" (folder))
(declare-function bench-references "features" (folder))
(declare-function bench-lsp "headless" (folder))
(declare-function bench-mcp "doors" (folder))

(defun bench-report ()
  "Print a table and add the figures to the file that BENCH_FIGURES names."
  (princ (format "\nEmacs %s\n%-26s %12s %12s %10s\n" emacs-version "" "ours ms" "peer ms" "ratio"))
  (let (lines)
    (pcase-dolist (`(,name ,ours ,peer) (reverse bench-figures))
      (princ (format "%-26s %12.3f %12s %10s\n" name ours
                     (if peer (format "%.3f" peer) "")
                     (if peer (format "%.2f x" (/ peer ours)) "")))
      (push (format "bench %s %s %.3f %s %s\n" name emacs-version ours
                    (if peer (format "%.3f" peer) "-")
                    (if peer (format "%.2f" (/ peer ours)) "-"))
            lines))
    (write-region (apply #'concat (nreverse lines)) nil (getenv "BENCH_FIGURES") t 'silent)))

(defun bench ()
  "Measure everything."
  (let ((folder (file-truename (file-name-as-directory (make-temp-file "eca-context-bench" t))))
        (trouble (eca-context-module-trouble))
        (inhibit-message t)
        (create-lockfiles nil)
        (only (getenv "BENCH_ONLY")))
    (when trouble (error "%s" trouble))
    (unwind-protect
        (pcase-dolist (`(,name . ,function)
                       `(("imenu" . ,(lambda () (bench-imenu folder)))
                         ("diagnostics" . ,(lambda () (bench-diagnostics folder 1000)))
                         ("diagnostics" . ,(lambda () (bench-diagnostics folder 10000)))
                         ("positions" . ,#'bench-positions)
                         ("places" . ,(lambda () (bench-places folder)))
                         ("module-load" . ,#'bench-module-load)
                         ("context" . ,(lambda () (bench-context folder)))
                         ("ready" . ,(lambda () (bench-ready folder)))
                         ("stress" . ,(lambda () (bench-stress folder)))
                         ("context-all" . ,(lambda () (bench-context-all folder)))
                         ("references" . ,(lambda () (bench-references folder)))
                         ("lsp" . ,(lambda () (bench-lsp folder)))
                         ("mcp" . ,(lambda () (bench-mcp folder)))))
          (when (or (null only) (string-match-p only name))
            (funcall function)))
      (delete-directory folder t))
    (bench-report)))

(provide 'bench)
;;; bench.el ends here
